/* Clocks in a token bucket: BURST tokens, one more in a tick, taken by clients whose clocks are up to
   SKEW ticks ahead. A record has the time at which its call began, and is appended up to DELAY ticks
   later; the order of the records in the key decides. One reply at a time may be lost: the client
   appends the same record again until its deadline, and a copy may arrive late. A key is made by a
   client that has seen before that it is missing. A rewriting drops a bucket that is full, SLACK
   ticks later. The store may forget the key once.
     bound   in W ticks, at most BURST + SKEW + DELAY + W pass, and after a loss BURST + SKEW + DELAY
             more: a bucket that is made again begins at the time of any clock
     once    a take is charged once
   -DPULL    a record of a slow clock pulls the time of the bucket back
   -DNOID    a repeated record counts again
   -DSETKEY  the key is made by set
   -DEAGER   a rewriting drops the bucket at once when it is full
   -DREFILL  the bucket keeps its tokens and its own time, and each record sets that time */
#define BURST 2
#define SKEW 1
#define DELAY 1
#ifdef SMALL
#define TICKS 5
#else
#define TICKS 7
#endif
#ifdef EAGER
#define SLACK 0
#else
#define SLACK (SKEW + DELAY)
#endif
#define NONE 255

byte now = DELAY;          /* true time; no call has begun before */
bool there = false;        /* the key */
byte until = 0, at = 0;     /* the bucket: when it is full, and its own time; until 0: no entry */
bool charged = false;      /* the pending record is charged in the key, */
bool has_id = false;       /* and the key has its id */
byte outcome = 0;          /* of the pending record: 1 passed, 2 refused */
byte own = NONE;           /* its time; NONE: no record is pending */
byte left = 0;             /* ticks until its deadline */
bool late = false;         /* a copy of it is under way */
bool maker = false;        /* a client has seen that the key is missing */
byte lost = 0;
byte passed[TICKS + 1];    /* told in each tick */

inline told() {
  passed[now]++;
  sum = 0; x = now;
  do
  :: sum = sum + passed[x];
     assert(sum <= (BURST + SKEW + DELAY) * (1 + lost) + (now - x));
     if :: x == 0 -> break :: else -> x-- fi
  od
}

/* A record of this time; sets `result`. */
inline apply(time) {
  t = time;
#ifdef PULL
  if :: until > 0 && at > t -> until = until - (at - t); at = t :: else fi;
#endif
  if :: until > 0 && until <= t -> until = 0 :: else fi;
#ifdef REFILL
  if :: until > 0 -> if :: at > t -> until = until - (at - t) :: else fi :: else fi;
#else
  if :: until > 0 && at > t -> t = at :: else fi;
#endif
  f = (until > t -> until : t);
  if
  :: f + 1 - t <= BURST -> until = f + 1; at = t; result = 1
  :: else -> result = 2
  fi
}

active proctype World() {
  byte t, f, x, sum, result, time;
  do
  /* a take whose reply comes */
  :: atomic { there && now < TICKS ->
       if :: time = now - DELAY :: time = now :: time = now + SKEW fi;
       apply(time);
       if :: result == 1 -> told() :: else fi;
       result = 0; time = 0; t = 0; f = 0; x = 0; sum = 0 }
  /* one whose reply is lost: applied, or perhaps later */
  :: atomic { there && own == NONE && now < TICKS ->
       if :: own = now :: own = now + SKEW fi;
       left = DELAY; charged = false; has_id = false; outcome = 0;
       if
       :: apply(own); outcome = result; has_id = true; charged = (result == 1); late = false
       :: late = true
       fi;
       result = 0; t = 0; f = 0 }
  /* its copy arrives */
  :: atomic { there && late ->
       late = false;
       if
#ifndef NOID
       :: has_id -> skip
#endif
       :: (own != NONE) && !(has_id) ->
          apply(own); outcome = result; has_id = true; charged = (result == 1)
#ifdef NOID
       :: has_id -> apply(own); assert(!(charged && result == 1)); outcome = result
#endif
       :: own == NONE -> skip
       fi;
       result = 0; t = 0; f = 0 }
  /* it is repeated, before its deadline, and the answer comes; a copy may still be under way */
  :: atomic { there && own != NONE && left <= DELAY ->
       if
#ifndef NOID
       :: has_id -> skip
#else
       :: has_id -> apply(own); assert(!(charged && result == 1)); outcome = result
#endif
       :: else -> apply(own); outcome = result; has_id = true; charged = (result == 1)
       fi;
       if :: outcome == 1 -> told() :: else fi;
       own = NONE; late = false; charged = false; has_id = false; outcome = 0; left = 0;
       result = 0; t = 0; f = 0; x = 0; sum = 0 }
  /* a tick; after its deadline a record is AMBIGUOUS */
  :: atomic { now < TICKS ->
       now++;
       if
       :: own != NONE && left == 0 ->
          own = NONE; late = false; charged = false; has_id = false; outcome = 0
       :: own != NONE && left > 0 -> left--
       :: else
       fi }
  /* the key is rewritten by a client with some clock */
  :: atomic { there && until > 0 ->
       if
       :: until + SLACK <= now + SKEW -> until = 0; at = 0
       :: else
       fi }
  /* the key is made */
  :: atomic { !there && !maker -> maker = true }
  :: atomic { maker ->
       maker = false;
#ifdef SETKEY
       there = true; until = 0; at = 0; has_id = false; charged = false
#else
       if :: !there -> there = true; until = 0; at = 0; has_id = false; charged = false
          :: else
       fi
#endif
     }
  /* a second client has seen that it is missing */
  :: atomic { !there && maker -> there = true; until = 0; at = 0 }
  /* the store forgets */
  :: atomic { there && lost == 0 ->
       there = false; until = 0; at = 0; lost = 1; has_id = false; charged = false }
  :: now == TICKS -> break
  od
}
