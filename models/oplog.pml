/* A map: one key of appended operations with ids, compacted by cas; lost replies, repeats and
   copies that arrive late.
   -DSET     compacts by get and set
   -DNOID    has no ids: a repeat counts twice
   -DDROPID  forgets the ids at compaction
   -DSMALL   fewer writers */
#ifdef SMALL
#define W 2
#else
#define W 3
#endif
byte cas=1;
byte lg[W];      /* copies of op i in the log tail */
byte inc[W];     /* how often op i is counted in the snapshot */
bool idk[W];     /* id of op i remembered by the snapshot */
bool ack[W]; byte fin=0;
proctype Writer(byte i) {
  /* 1st try: reply may be lost; then a retry; the first copy may itself arrive late (zombie) */
  if
  :: atomic { lg[i]++; cas++; ack[i]=true }                          /* clean */
  :: atomic { lg[i]++; cas++ }  -> atomic { lg[i]++; cas++; ack[i]=true }  /* applied, reply lost, retried */
  :: atomic { lg[i]++; cas++; ack[i]=true } -> atomic { lg[i]++; cas++ }  /* retry acked first, zombie later */
  fi; fin++ }
proctype Compactor() {
  byte sl[W], si[W]; bool sk[W]; byte c, k, r=0;
  do :: r<2 -> 
    atomic { k=0; do :: k<W -> sl[k]=lg[k]; si[k]=inc[k]; sk[k]=idk[k]; k++ :: else -> break od; c=cas; k=0 }
    atomic { 
#ifndef SET
      if :: c==cas ->
#endif
      k=0; do :: k<W ->
#ifdef NOID
         inc[k]=si[k]+sl[k]; lg[k]=0;
#else
         if :: sl[k]>0 && !sk[k] -> inc[k]=si[k]+1 :: else -> inc[k]=si[k] fi;
#ifdef DROPID
         idk[k]=false;
#else
         idk[k]=sk[k] || sl[k]>0;
#endif
         lg[k]=0;
#endif
         k++ :: else -> break od; cas++; k=0
#ifndef SET
      :: else fi
#endif
    }; r++
  :: else -> break od; fin++ }
init { byte k=0; byte tot;
  atomic { run Writer(0); run Writer(1);
#ifndef SMALL
    run Writer(2);
#endif
    run Compactor(); run Compactor() }
  fin==W+2;
  do :: k<W ->
#ifdef NOID
     tot=inc[k]+lg[k];
#else
     tot=inc[k]; if :: lg[k]>0 && !idk[k] -> tot=tot+1 :: else fi;
#endif
     assert(ack[k] && tot==1); k++ :: else -> break od }
