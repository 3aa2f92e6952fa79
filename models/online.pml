/* The online counter: the windows of one visitor. The window of bucket w is w and the SPAN buckets
   before it. Two clients send beats of the visitor, each in a bucket that has begun, in any order.
   A beat adds its bucket to the visitor's mark, a set of buckets, by add or compare-and-set; then it
   increments the number of each window that has not counted the visitor: the high half where a beat
   is in the window for the first time, the low half where one is before the window's last bucket. A
   number that is missing is made by add. Replies are lost, clients pause and die, keys expire.
   At each moment, in the two windows that a reader takes, the visitor counts at most once; when all
   beats have ended and none is in doubt, the halves are those of the beats.
   -DSETMARK    the mark is replaced by set
   -DNEWEST     the mark holds the newest bucket only
   -DNOTOKEN    a mark whose reply was lost is taken for that of another client
   -DCOUNTFIRST increments before it writes the mark
   -DAGAIN      repeats an increment whose reply was lost
   -DSETNUMBER  makes a number by set
   -DSHORT      a number expires before its last reader
   -DMARKSHORT  a mark expires before the windows of its beats have ended
   -DSMALL      fewer buckets */
#define SPAN 1
#ifdef SMALL
#define BUCKETS 3
#else
#define BUCKETS 4
#endif
#define BEATS 2
#define WINDOWS (BUCKETS + SPAN)
#ifdef SHORT
#define TTL (SPAN - 1)
#else
#define TTL SPAN
#endif
#ifdef MARKSHORT
#define MARK_TTL (SPAN - 1)
#else
#define MARK_TTL SPAN
#endif
#define below(w) ((1 << (w)) - 1)
#define before_window(w) below((w) > SPAN -> (w) - SPAN : 0)
#define in_window(set, w) (((set) & below((w) + 1) & ~before_window(w)) != 0)
#define in_low(set, w) (((set) & below(w) & ~before_window(w)) != 0)

byte now = 0;                  /* bucket */
byte set = 0, token, dies, version; /* the mark; set 0: there is none */
byte high[WINDOWS], low[WINDOWS], ends[WINDOWS]; /* the numbers; ends 0: missing */
byte beaten = 0;               /* a bit for each bucket with a beat that has ended well */
byte busy = 0;                 /* beats that have not ended */
bool doubt = false;            /* one has ended with an unknown result, or its client is dead */

active proctype Clock() { byte w = 0;
  do
  :: atomic { now < BUCKETS - 1 -> now++;
       if :: set != 0 && dies < now -> set = 0; version++ :: else fi;
       do
       :: w < WINDOWS ->
          if :: ends[w] != 0 && ends[w] - 1 < now -> ends[w] = 0; high[w] = 0; low[w] = 0 :: else fi; w++
       :: else -> break
       od; w = 0 }
  :: atomic { now == BUCKETS - 1 -> break }
  od }

inline write_mark(fresh) {
#ifdef NEWEST
  set = (fresh > set && set != 0 -> (1 << b) : fresh);
  if :: set < (1 << b) -> set = (1 << b) :: else fi;
#else
  set = fresh;
#endif
  token = mine; dies = now + MARK_TTL; version++ }

inline add_number() {
  high[w] = high[w] + more; low[w] = low[w] + less }

inline next_window() {
  do
  :: more + less == 0 && w <= b + SPAN ->
     more = (in_window(after, w) && !in_window(was, w) -> 1 : 0);
     less = (in_low(after, w) && !in_low(was, w) -> 1 : 0);
     if :: more + less == 0 -> w++ :: else fi
  :: else -> break
  od }

/* Each window from b on that has not counted the visitor. */
inline count() {
  atomic { w = b; next_window() };
  do
  :: atomic { w > b + SPAN -> w = 0; break }
  :: atomic { w <= b + SPAN && ends[w] != 0 -> add_number(); more = 0; less = 0; w++; next_window() }
  :: atomic { w <= b + SPAN && ends[w] != 0 -> add_number(); /* the reply is lost */
#ifndef AGAIN
       more = 0; less = 0; w++; doubt = true; next_window()
#endif
     }
  :: atomic { w <= b + SPAN && ends[w] == 0 };
     atomic { if
#ifdef SETNUMBER
       :: ends[w] = now + TTL + 1; high[w] = more; low[w] = less; more = 0; less = 0; w++; next_window()
#else
       :: ends[w] == 0 -> ends[w] = now + TTL + 1; add_number(); more = 0; less = 0; w++; next_window()
       :: else
#endif
       fi }
  od }

proctype Client(byte first) { byte b = 0, k = 0, w = 0, more = 0, less = 0, mine, was, after, seen, seen_version;
  bool unsure, counted;
beat:
  atomic {
    if :: k == BEATS -> goto out :: else fi;
    b = 0;
    do :: b < now -> b++ :: break od;
    mine = first + k; k++; was = 0; after = (1 << b); unsure = false; counted = false; busy++ };
#ifdef COUNTFIRST
  seen = set; was = seen; after = seen | (1 << b); count(); counted = true; was = 0; after = (1 << b);
#endif
add:
  if
  :: atomic { set == 0 -> write_mark(1 << b) }
  :: atomic { set == 0 && !unsure -> write_mark(1 << b); unsure = true }; goto look
  :: atomic { set != 0 }; goto look
  fi;
  goto written;
look:
  atomic {
    if
    :: set == 0 -> goto add
#ifndef NOTOKEN
    :: set != 0 && token == mine -> /* its write, or, where the set is another, its add */
       if :: set != after -> was = 0; after = (1 << b) :: else fi; goto written
    :: set != 0 && token != mine ->
#else
    :: set != 0 ->
#endif
       seen = set; seen_version = version;
       if
       :: (seen & (1 << b)) != 0 -> /* counted by another; or by this one, if it was in doubt */
#ifndef NOTOKEN
          doubt = doubt || unsure;
#endif
          goto ended
       :: else
       fi
    fi };
  atomic {
    if
#ifdef SETMARK
    :: true -> was = seen; after = seen | (1 << b); write_mark(after); goto written
#else
    :: set != 0 && version == seen_version -> was = seen; after = seen | (1 << b); write_mark(after); goto written
    :: set != 0 && version == seen_version && !unsure -> was = seen; after = seen | (1 << b); write_mark(after); unsure = true; goto look
    :: else -> goto look
#endif
    fi };
written:
  if
  :: !counted -> count()
  :: counted
  :: atomic { doubt = true; busy--; goto out } /* it dies */
  fi;
ended:
  atomic { beaten = beaten | (1 << b); busy--;
    was = 0; after = 0; seen = 0; seen_version = 0; unsure = false; goto beat };
out: atomic { b = 0; was = 0; after = 0; seen = 0; seen_version = 0; unsure = false } }

#define is_right(w) (high[w] == in_window(beaten, w) && low[w] == in_low(beaten, w))
active proctype Reader() {
  do
  :: atomic { now < BUCKETS ->
       assert(high[now] <= 1 && low[now] <= 1 && high[now + 1] <= 1 && low[now + 1] <= 1);
       assert(busy > 0 || doubt || (is_right(now) && is_right(now + 1))) }
  od }

init { atomic { run Client(1); run Client(1 + BEATS) } }
