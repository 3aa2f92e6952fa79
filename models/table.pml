/* A table of elements, each under its own key, and a directory of the ids by which they were
   added. A process may stop for good at any point. At rest, an element that is there is listed.
   -DNAIVE      removes from the directory by name, not by id
   -DELEMFIRST  writes the element before the directory
   -DGC         a reader removes ids without an element at once */
byte E=0;            /* 0 absent else add-id */
byte cas=1;
bool listed[6];      /* add-ids currently listed (after folding) */
byte nid=0; byte live=0;
proctype Put() { byte id;
  atomic { nid++; id=nid }
#ifndef ELEMFIRST
  if :: atomic { listed[id]=true } :: goto crash fi;
  if :: atomic { E=id; cas++ } :: goto crash fi;
#else
  if :: atomic { E=id; cas++ } :: goto crash fi;
  if :: atomic { listed[id]=true } :: goto crash fi;
#endif
crash: live-- }
proctype Del() { byte id, c, k;
  atomic { id=E; c=cas }
  if :: id==0 -> skip :: else ->
    atomic { if :: c==cas && E==id -> E=0; cas++ :: else -> id=0 fi }
    if :: id==0 -> skip
    :: else -> if :: 
#ifdef NAIVE
      atomic { k=1; do :: k<6 -> listed[k]=false; k++ :: else -> break od; k=0 }
#else
      atomic { listed[id]=false }
#endif
      :: skip /* crash */ fi
    fi
  fi; live-- }
proctype Gc() { byte k=1; 
  do :: k<4 -> bool a; byte e; atomic { a=listed[k]; e=E }
     if :: a && e!=k -> atomic { listed[k]=false } :: else fi; k++ :: else -> break od; live-- }
init { atomic { live=4; run Put(); run Put(); run Del(); run Del() }
#ifdef GC
  atomic { live++; run Gc() }
#endif
  live==0; assert(E==0 || listed[E]) }
