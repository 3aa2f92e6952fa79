/* A record changed by compare-and-swap: lost replies, copies that arrive late. The value is a sum,
   a version and the ids of its last K writers; each writer adds 1 exactly once.
   -DNOID   carries no ids
   -DK1     remembers one id
   -DNOVER  does not compare versions to learn that its id may have left the window
   -DSMALL  fewer writers */
#ifdef SMALL
#define W 2
#else
#define W 3
#endif
#ifdef K1
#define K 1
#else
#define K 3
#endif
byte sum=0, ver=0, cas=1; byte win[K];
byte acked=0, ambig=0, fin=0;
inline seen(id,res) { byte z; z=0; res=false; do :: z<K -> if :: win[z]==id -> res=true :: else fi; z++ :: else -> break od; z=0 }
inline store(id) { byte y; sum++; ver++; cas++; y=K-1; do :: y>0 -> win[y]=win[y-1]; y-- :: else -> break od; win[0]=id; y=0 }
proctype Zombie(byte c; byte id; byte s) { atomic { if :: c==cas -> 
   /* the cas carries the whole value: it writes s+1 */
   sum=s; store(id) :: else fi }; fin++ }
active [W] proctype Writer() {
  byte id=_pid+1; byte c, s, v, v0; bool r; bool maybe=false; byte tries=0;
again:
  tries++;
  atomic { c=cas; s=sum; v=ver; seen(id,r) }
#ifndef NOID
  if :: r -> goto done :: else fi;
  #ifndef NOVER
  if :: maybe && v-v0>K -> goto amb :: else fi;
#endif
#endif
  if
  :: atomic { if :: c==cas -> sum=s; store(id); goto done :: else -> goto again fi }
  :: tries<3 -> /* reply lost: applied */ atomic { if :: c==cas -> sum=s; store(id) :: else fi }; maybe=true; v0=v; goto again
  :: tries<2 -> /* reply lost: delayed, lands any time later */ atomic { fin--; run Zombie(c,id,s) }; maybe=true; v0=v; goto again
  fi;
done: acked++; goto out;
amb: ambig++;
out: fin++ }
active proctype Check() { fin==W; assert(sum>=acked && sum<=acked+ambig) }
