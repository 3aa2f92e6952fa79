/* Numbered segments that are closed by their size: bytes past LIMIT are void. Writers append and then
   ask for the size; an append whose reply is lost is repeated, and its first copy lands at any
   later time or never. A writer begins at the first segment or at any that is there, a reader reads
   from the first to the first that is missing, and a segment once more that was open when read but
   has a successor.
   An acknowledged push is seen exactly once; a read that sees a push sees before it every push
   that was acknowledged before it began; each read is the beginning of every later one.
   -DNOVOID   a reader takes bytes past LIMIT
   -DNODEDUP  a reader takes both copies of an id
   -DNOSIZE   a writer does not ask for the size
   -DSET      creates a segment by set
   -DEARLY    goes on to the next segment while this one has room
   -DONCE     a reader goes on behind an open segment and does not read it again
   -DAHEAD    a writer goes on to the next segment while this one has room; what it appends there is
              acknowledged when all segments before are full, which it makes so with bytes that are
              no record; a reader who finds an open segment with a successor does so too (holds)
   -DSTOP     a reader ends at the first segment that was open (holds)
   -DRASH     with AHEAD: acknowledged at once
   -DGONE     with AHEAD: takes a segment that is missing for one that was full
   -DSMALL    fewer writers and segments */
#define W 3
#define LIMIT 2
#ifdef SMALL
#define SEGMENTS 3 /* the last stays missing: a writer that comes so far gives up */
#define LOSES(i) ((i) == 0)
#else
#define SEGMENTS 4
#define LOSES(i) ((i) == 0)
#endif
#ifdef EARLY
#define CLOSED (LIMIT - 2)
#else
#define CLOSED LIMIT
#endif
#ifdef NOVOID
#define ROOM (LIMIT + 2) /* as far as this model looks at what follows the limit */
#else
#define ROOM (LIMIT + 1)
#endif
#ifdef NOVOID
#define LOOK ROOM
#else
#define LOOK LIMIT
#endif
#define MISSING 255
#define bytes_of(i) ((i) == 2 -> 2 : 1)

byte size[SEGMENTS];        /* MISSING, or up to ROOM */
byte at[SEGMENTS * ROOM];   /* the record that begins there + 1; 0: none, or the rest of one */
byte lost[W];            /* a copy on its way: to this segment + 1 */
byte acked = 0;          /* a bit for each push */
byte earlier[W];         /* acknowledged before this one began */

inline append(p, i) {
  if
  :: size[p] == MISSING
  :: else ->
     if :: size[p] + bytes_of(i) <= LOOK -> at[(p) * ROOM + size[p]] = i + 1 :: else fi;
     size[p] = (size[p] + bytes_of(i) < ROOM -> size[p] + bytes_of(i) : ROOM)
  fi }

/* Full, if it was not: by what is missing when somebody looks. */
inline fill(p) {
  atomic {
    if
#ifdef GONE
    :: size[p] == MISSING -> missing = 0
#else
    :: size[p] == MISSING -> size[p] = LIMIT + 1; missing = 0
#endif
    :: else -> missing = (size[p] < LIMIT -> LIMIT + 1 - size[p] : 0)
    fi };
  atomic {
    if
    :: missing > 0 -> size[p] = (size[p] + missing < ROOM -> size[p] + missing : ROOM); missing = 0
    :: else
    fi } }

proctype Writer(byte i) { byte p = 0, settled = 0, missing; bool repeated = false;
  atomic { earlier[i] = acked;
    if
    :: p = 0
    :: size[1] != MISSING -> p = 1
#if SEGMENTS > 3
    :: size[2] != MISSING -> p = 2
#endif
    fi };
#ifndef AHEAD
  settled = p;
#endif
step:
  if
#ifdef AHEAD
  :: atomic { p < SEGMENTS - 2 -> p++ }; goto step
#endif
  :: atomic { size[p] != MISSING -> append(p, i) }
  :: atomic { !repeated && LOSES(i) -> repeated = true; lost[i] = p + 1 }; goto step
  :: atomic { size[p] == MISSING }; /* it was, when the append came */
     atomic { if
#ifndef SET
       :: size[p] != MISSING
#endif
       :: else -> size[p] = 0
       fi }; goto step
  fi;
#ifndef NOSIZE
  if
  :: atomic { size[p] > CLOSED -> p++; if :: p == SEGMENTS - 1 -> goto out :: else fi }; goto step
  :: atomic { size[p] <= CLOSED }
  fi;
#endif
#if defined(AHEAD) && !defined(RASH)
  do
  :: settled < p -> fill(settled); settled++
  :: else -> break
  od;
#endif
  acked = acked | (1 << i);
out: atomic { p = 0; settled = 0; repeated = false } }

proctype Net() {
end: do
  :: atomic { lost[0] != 0 -> append(lost[0] - 1, 0); lost[0] = 0 }
  :: atomic { lost[1] != 0 -> append(lost[1] - 1, 1); lost[1] = 0 }
  :: atomic { lost[2] != 0 -> append(lost[2] - 1, 2); lost[2] = 0 }
  od }

/* Takes a segment as it is: its counted records, each id once, go to the end of the list. */
inline take(p) {
  o = 0;
  do
  :: o < ROOM ->
     i = at[(p) * ROOM + o];
     if
     :: i == 0
#ifndef NOVOID
     :: i != 0 && o + bytes_of(i - 1) > LIMIT
#endif
#ifndef NODEDUP
     :: i != 0 && (seen & (1 << (i - 1)))
#endif
     :: else ->
        assert(!(seen & (1 << (i - 1))));
        assert((earlier[i - 1] & seen) == earlier[i - 1]);
        assert(n >= told || list[n] == i);
        list[n] = i; n++; seen = seen | (1 << (i - 1))
     fi; o++
  :: else -> break
  od; o = 0; i = 0 }

/* A read in no time; what follows an open segment is not acknowledged yet. */
inline all() {
  n = 0; seen = 0; p = 0;
  do
  :: size[p] != MISSING && (p == 0 || size[p - 1] >= LIMIT) -> take(p); p++
  :: else -> break
  od;
  assert((seen & acked) == acked && n >= told);
  told = n; n = 0; seen = 0; p = 0 }

/* A read between two reads in no time. What has been taken of a segment that is open when its
   successor is found is forgotten, and the segment read again. */
proctype Reader() { byte p = 0, missing, o, i, n = 0, told = 0, seen = 0, n_then = 0, seen_then = 0;
  byte list[W]; bool open = false;
  atomic { all() };
  do
  :: atomic { size[p] != MISSING && !open ->
       open = size[p] < LIMIT;
       if :: open -> n_then = n; seen_then = seen :: else fi;
       take(p); p++ }
#ifdef STOP
  :: atomic { open -> assert(n >= told); told = n; all(); break }
#endif
#ifdef AHEAD
  :: atomic { size[p] != MISSING && open && size[p - 1] < LIMIT -> p-- };
     fill(p);
     p++
  :: atomic { size[p] != MISSING && open && size[p - 1] >= LIMIT ->
#else
  :: atomic { size[p] != MISSING && open ->
#endif
       open = false;
#ifndef ONCE
       p--; n = n_then; seen = seen_then; n_then = 0; seen_then = 0; assert(size[p] >= LIMIT)
#endif
     }
  :: atomic { size[p] == MISSING -> assert(n >= told); told = n; all(); break }
  od;
  atomic { told = 0; open = false; n_then = 0; seen_then = 0; o = 0;
    do :: o < W -> list[o] = 0; o++ :: else -> break od; o = 0 } }

init { atomic {
  size[0] = MISSING; size[1] = MISSING; size[2] = MISSING;
#if SEGMENTS > 3
  size[3] = MISSING;
#endif

  run Writer(0); run Writer(1); run Writer(2);
  run Net(); run Reader() } }
