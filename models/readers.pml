/* A lock that readers share: each reader adds itself to the value that it has read, by cas. The value
   says for each reader how much of the key's ttl is left when its lease ends. Time may pass between
   any two steps; the key expires by the server's clock, and nothing else ends a lease.
   -DBLIND    the value is written without comparing
   -DCLOCK    a client counts the time of the others by its own clock, which is ahead
   -DOWNTTL   the key gets the ttl of the writer of the value alone
   -DNOREAD   a release deletes the key without looking for others
   -DEARLY    a holder counts its lease from the reply */
#define ROUNDS 1
#ifdef SMALL
#define END 5
#else
#define END 6
#endif
#define FREE 0
#define ALONE 1
#define SHARED 2
byte now=1;
byte kind=FREE, keyend=0;
bool in[2];
byte off[2];              /* of the ttl of the key, left when this reader's lease ends */
bool stale[3];            /* the value has changed since this client has read it: its cas fails */
byte until[3];            /* ghost: the deadline of each holder; 2 is the writer */

inline changed() { stale[0]=true; stale[1]=true; stale[2]=true }
inline clear() { kind=FREE; keyend=0; in[0]=false; in[1]=false; off[0]=0; off[1]=0; changed() }

/* At its end the key expires at once. */
active proctype Clock() {
  do :: now<END -> atomic { now++;
          if :: kind!=FREE && now>=keyend -> clear() :: else fi;
          if :: until[0]<=now -> until[0]=0 :: else fi;
          if :: until[1]<=now -> until[1]=0 :: else fi;
          if :: until[2]<=now -> until[2]=0 :: else fi }
     :: now>=END -> break od
}

#define LEFT(i) ((in[i] && kind==SHARED && keyend-now>off[i]) -> (keyend-now-off[i]) : 0)

/* The value with this reader's `own` time (0: without it) and the other's `left`, by cas. */
inline store(me, own) {
  atomic {
#ifdef BLIND
    if :: true ->
#else
    if :: kind!=FREE && !stale[me] ->
#endif
         changed(); kind=SHARED;
#ifdef OWNTTL
         ttl=(own>0 -> own : left);
#else
         ttl=(own>left -> own : left);
#endif
         keyend=now+ttl;
         in[me]=(own>0); off[me]=(own>0 -> ttl-own : 0);
         in[1-me]=(left>0); off[1-me]=((left>0 && ttl>left) -> ttl-left : 0);
         ok=true
    :: else -> skip
    fi
  }
}

inline look(me) {
  atomic {
    stale[me]=false; k=kind; left=LEFT(1-me); mine=LEFT(me);
#ifdef CLOCK
    left=(left>0 -> left-1 : 0)
#endif
  }
}

proctype Reader(byte me; byte lease) {
  byte rounds=0, k, left, ttl, asked, mine; bool ok;
  do :: rounds<ROUNDS ->
     atomic { rounds++; asked=now; look(me) }
     if :: k==FREE -> atomic {
             if :: kind==FREE -> changed(); kind=SHARED; keyend=now+lease; in[me]=true; ok=true
                :: else fi }
        :: k==SHARED -> store(me, lease)    /* joins, or renews */
        :: k==ALONE
     fi;
#ifdef EARLY
     asked=now;
#endif
     atomic { if :: ok && asked+lease>now -> until[me]=asked+lease; assert(until[2]==0) :: else fi;
              k=0; left=0; ttl=0; asked=0; mine=0; ok=false }
     if :: true ->                          /* leaves; or dies, or renews in the next round */
           atomic { until[me]=0; look(me) }
           if :: mine>0 && left>0 ->
#ifdef NOREAD
                 atomic { clear() }
#else
                 store(me, 0)
#endif
              :: mine>0 && left==0 -> atomic { if :: !stale[me] -> clear() :: else fi }
              :: else
           fi
        :: true
     fi;
     atomic { k=0; left=0; ttl=0; mine=0; ok=false }
  :: rounds>=ROUNDS -> break
  od
}

proctype Writer() {
  byte rounds=0, asked; bool ok, open;
  do :: rounds<ROUNDS+1 ->
     atomic { rounds++; asked=now; stale[2]=false; open=(kind==SHARED && LEFT(0)==0 && LEFT(1)==0) }
     atomic {
       if :: kind==FREE || (open && !stale[2]) -> clear(); kind=ALONE; keyend=now+2; ok=true
          :: else fi; open=false }
#ifdef EARLY
     asked=now;
#endif
     atomic { if :: ok && asked+2>now -> until[2]=asked+2; assert(until[0]==0 && until[1]==0) :: else fi;
              stale[2]=false; asked=0 }
     if :: ok -> atomic { until[2]=0; if :: !stale[2] && kind==ALONE -> clear() :: else fi }
        :: true                             /* dies */
     fi;
     atomic { stale[2]=false; ok=false }
  :: rounds>=ROUNDS+1 -> break
  od
}

init { atomic { run Reader(0, 3); run Reader(1, 1); run Writer() } }
