/* The online counter, scaled down: buckets of W ticks, the sum of the N-1 whole ones. Buckets are
   named by their absolute number and expire late.
   -DART     a ring of N keys, made by set (the article's way)
   -DADD     a ring of N keys, made by add
   -DATOMIC  no client is overtaken by the clock between choosing a bucket and using it
   -DSMALL   fewer buckets */
#define W 2
#define N 3
#ifdef SMALL
#define P 5
#else
#define P 6
#endif
#define END (W*P)
byte t=0;
#if defined(ART)||defined(ADD)
#define NK N
#define IDX(m) ((m)%N)
#else
#define NK P
#define IDX(m) (m)
#endif
byte val[NK]; byte xp[NK]; byte acked[P];
inline purge() { byte q; q=0; do :: q<NK -> if :: xp[q]!=0 && xp[q]<=t -> xp[q]=0; val[q]=0 :: else fi; q++ :: else -> break od; q=0 }
active proctype Clock() { do :: atomic { t<END-1 -> t++; purge() } :: t==END-1 -> break od }
proctype Client() {
  byte m; bool done; byte k=0;
  do :: k<2 && t<END-W ->
#ifdef ATOMIC
   atomic {
#endif
   m=t/W; done=false;
   do :: done -> break :: else ->
     atomic { if :: xp[IDX(m)]!=0 -> val[IDX(m)]++; acked[m]++; done=true :: else fi }
     if :: done -> skip :: else ->
#ifdef ART
     atomic { xp[IDX(m)]=t+N*W; val[IDX(m)]=1; acked[m]++; done=true }
#elif defined(ADD)
     atomic { if :: xp[IDX(m)]==0 -> xp[IDX(m)]=t+N*W; val[IDX(m)]=1; acked[m]++; done=true :: else fi }
#else
     atomic { if :: xp[IDX(m)]==0 -> xp[IDX(m)]=t+(N+2)*W; val[IDX(m)]=1; acked[m]++; done=true :: else fi }
#endif
     fi
   od; k++
#ifdef ATOMIC
   }
#endif
  :: break od }
active proctype Reader() { byte m, s, a;
  do :: t<END-1 -> atomic { m=t/W; if :: m>=2 -> s=val[IDX(m-1)]+val[IDX(m-2)]; a=acked[m-1]+acked[m-2]; assert(s>=a) :: else fi }
  :: t>=END-1 -> break od }
init { atomic { run Client(); run Client() } }
