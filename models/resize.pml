/* A semaphore's resize: N holders claim a slot and then read the number of permits; a resize writes
   the number and then looks for claims above it. After an acknowledged resize to 1, nobody who
   begins may use slot 1, and who does use it was counted. Replies may be late: a claim and its
   read are two steps of the server; a write may be applied twice, the second time late.
   -DLOOKFIRST   the number is read before the claim
   -DREMEMBERED  a handle believes the number that it has read once
   -DCOUNTFIRST  the resize counts the claims before it writes
   -DSET         the resize writes by set: a late copy undoes a later resize
   -DNORETURN    a claim above the number is kept */
#define N 2
#ifdef SMALL
#define ROUNDS 1
#else
#define ROUNDS 2
#endif
byte permits=2, version=1; /* settings, and their cas */
byte slot[2]=0;            /* 0: free, else who has the lease */
byte counted=0;            /* bits of those whose claim above the number the last resize saw */
byte epoch=0;              /* resizes that are acknowledged */
byte known=2;              /* the number of the last acknowledged one */
bool busy=false;           /* a resize is under way */
byte late_cas=0, late_to=0;

active [N] proctype Holder() {
  byte me, s, rounds=0, begun; bool raised; byte seen=2;
  me=_pid+1;
  do :: rounds<ROUNDS ->
     rounds++;
     begun=epoch; raised=busy;
#ifdef LOOKFIRST
     seen=permits;
#endif
     if :: s=0 :: s=1 fi;
     if :: atomic { slot[s]==0 -> slot[s]=me }
#if !defined(LOOKFIRST) && !defined(REMEMBERED)
           seen=permits;
#endif
           if :: s<seen ->
                 /* used: a slot that had ended before is never used, unless a resize went on
                    meanwhile; and each use above the number was counted */
                 atomic {
                   assert(!(s>=known && begun==epoch && !raised && !busy));
                   assert(!(s>=known && !busy && epoch>0 && !(counted & (1<<me))))
                 }
              :: else -> skip
           fi;
#ifdef NORETURN
           if :: s<seen -> slot[s]=0
              :: else -> atomic { assert(!(s>=known && begun==epoch && !raised && !busy)) ; slot[s]=0 } fi
#else
           slot[s]=0
#endif
        :: atomic { slot[s]!=0 -> skip }
     fi
  :: rounds>=ROUNDS -> break
  od
}

inline write(to) {
#ifdef SET
  atomic { permits=to; if :: late_cas=1; late_to=to :: skip fi }
#else
  atomic { cas=version; if :: late_cas=cas; late_to=to :: skip fi }
  atomic { if :: version==cas -> permits=to; version++ :: else fi }
#endif
}
inline count() { if :: slot[1]!=0 -> counted=counted | (1<<slot[1]) :: else fi }

active proctype Resizer() {
  byte cas, turn=0, to;
  do :: turn<3 ->
     to=(turn==0 || turn==2 -> 1 : 2);
     turn++;
     atomic { busy=true; counted=0 }
#ifdef COUNTFIRST
     count(); write(to)
#else
     write(to); count()
#endif
     ;
     if :: permits==to -> atomic { known=to; epoch++; busy=false }
        :: else -> atomic { busy=false; known=2 } /* in doubt */
     fi
  :: turn>=3 -> break
  od
}

/* A copy of a write arrives late. */
active proctype Late() {
  do :: atomic { late_cas!=0 ->
#ifdef SET
        permits=late_to;
#else
        if :: version==late_cas -> permits=late_to; version++ :: else fi;
#endif
        late_cas=0 }
        assert(busy || permits==known || known==2)
     :: timeout -> break
  od
}
