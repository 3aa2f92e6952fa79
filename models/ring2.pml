/* The visitor counter: slots named by their absolute number, expiring late. T ticks a period.
   -DTTL2T   a ring of two keys that live two periods (the article's way)
   -DTTLFIX  the same with the lifetime computed when the key is made
   -DATOMIC  no client is overtaken by the clock between choosing a slot and using it
   -DSMALL   fewer periods */
#define T 2
#ifdef SMALL
#define P 4
#else
#define P 5
#endif
#define END (T*P)
byte t=0;
#if defined(TTL2T)||defined(TTLFIX)
#define NK 2
#define IDX(m) ((m)%2)
#else
#define NK P
#define IDX(m) (m)
#endif
byte val[NK]; byte xp[NK];  /* xp=0: absent */
byte acked[P];
byte ops=0;
inline purge() { byte q; q=0; do :: q<NK -> if :: xp[q]!=0 && xp[q]<=t -> xp[q]=0; val[q]=0 :: else fi; q++ :: else -> break od; q=0 }
active proctype Clock() { do :: atomic { t<END-1 -> t++; purge() } :: t==END-1 -> break od }
proctype Client() {
  byte m; bool done=false; byte k=0;
  do :: k<2 && t<END-T ->
#ifdef ATOMIC
   atomic {
#endif
   m=t/T; done=false;
   do :: done -> break
      :: else ->
         atomic { if :: xp[IDX(m)]!=0 -> val[IDX(m)]++; acked[m]++; done=true :: else fi }
         if :: done -> skip :: else ->
         atomic { if :: xp[IDX(m)]==0 -> 
#if defined(TTL2T)
              xp[IDX(m)]=t+2*T;
#elif defined(TTLFIX)
              xp[IDX(m)]=t+2*T-(t%T);
#else
              xp[IDX(m)]=t+4*T;
#endif
              val[IDX(m)]=1; acked[m]++; done=true :: else fi }
         fi
   od; k++
#ifdef ATOMIC
   }
#endif
  :: break
  od }
active proctype Reader() {
  byte m, a, v;
  do :: t<END-1 ->
     atomic { m=t/T; if :: m>0 -> v=val[IDX(m-1)]; a=acked[m-1];
        assert(v>=a)                     /* no acknowledged hit of the closed period is missing */
#ifdef EXACT
        ; assert(v==a)
#endif
        :: else fi }
  :: t>=END-1 -> break od }
init { atomic { run Client(); run Client() } }
