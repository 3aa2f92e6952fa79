/* A map's key K is compacted any number of times, then sealed and moved into its child C, as in
   growth.pml. Here an append is one command: it compares the CAS number of the key, and sets it.
   An open key has the open number, which says that the key is open and what its floor is. An append
   compares this number and leaves it. Every other number is assigned by the server, which repeats none.
   A rewriter first freezes the key: an empty append gives it an assigned number. Then it reads the
   key and writes it by compare-and-set with the number that it has read, never with the open number.
   If an append is refused, its writer looks at the key. If the key is open, the writer appends with
   the number that it has seen, and sets the open number.
   Any process may stop or pause between any two steps; an append whose reply is lost is repeated, and
   its first copy arrives at any later time or never. A floor makes the record of operation 0 void and
   forgets its id. An assigned number is a process's bit that any write of the key clears.
   At each moment an acknowledged operation counts once, none counts twice, and none counts of which
   its writer has said that it does not.
   -DNOFREEZE  a rewriter reads the key and writes it with the open number; so would a client that does
               not know this number
   -DREPEATS   a freeze sets a number that has been there before
   -DBLIND     an append sets the open number and compares none
   -DNOTOKEN   the same, after a look that showed an open key with an assigned number
   -DNOLOOK    a writer appends with the number that it has seen, whatever the state of the key
   -DKEEPS     the seal leaves the open number
   -DNOFLOOR   the open number does not say the floor
   -DNOID      carries no ids: a repeat counts twice
   -DSURE      a writer that gives up after a refusal says that the operation does not count, also where
               an earlier copy of it is on its way
   -DPLAIN     a writer and a rewriter cannot set the number: the writer appends and then looks; each of
               their writes lets the server assign one (holds)
   -DEVICT     the store evicts a key at any time; the one loss that cannot be reported, as in growth.pml
   -DAFTER     with EVICT: only while no client has read a sealed key and not yet moved it (holds)
   -DW3        a third writer
   -DSMALL     only operation 0 loses a reply; C is not compacted */
#ifdef W3
#define W 3
#else
#define W 2
#endif
#define K 0
#define C 1
#define OPEN 1
#define SEALED 2
#define MOVED 3

/* The numbers of a key, and what a request compares. */
#define ASSIGNED 0
#ifdef NOFLOOR
#define open_number(floor) 1
#else
#define open_number(floor) (1 + (floor))
#endif
#define FROZEN 3
#define ANY 4 /* compares none */
#define of_writer(i) (4 << (i))
#define of_copy(i) (32 << (i))

#ifdef SURE
#define is_sure true
#else
#define is_sure !repeated
#endif
#ifdef SMALL
#define LOSES(i) ((i) == 0)
#else
#define LOSES(i) true
#endif

#ifdef PLAIN
#define is_plain(i) ((i) == 0)
#define is_plain_rewriter(me) ((me) == 2)
#else
#define is_plain(i) false
#define is_plain_rewriter(me) false
#endif

/* Counts are two bits for each operation, the ids that are known one bit. */
#define once(i) (1 << (2 * (i)))
#define TWICE 42

byte flags[2]; /* 0: the key is missing */
byte number[2];
byte holds[2];  /* the processes that hold its assigned number */
byte counts[2];
byte ids[2];
bit floor[2];
byte lost[W];  /* a copy on its way: to this key + 1 + twice what it compares */
byte acked = 0, denied = 0;
byte making = 0; /* clients between reading a sealed key and moving it */

#define holds_number(x, process) (number[x] == ASSIGNED && (holds[x] & (process)))
#define compares(x, token, process) ((token) == ANY || ((token) == ASSIGNED -> holds_number(x, process) : number[x] == (token)))
#define is_void(x, i) (flags[x] != OPEN || (floor[x] && (i) == 0))

/* What a read in no time sees. Where it misses a key, it says so. */
#define is_below (flags[K] == MOVED || (flags[K] == 0 && flags[C] != 0))
#define is_lost (flags[K] == 0 && flags[C] == 0 || flags[K] == MOVED && flags[C] == 0)
#define seen (is_below -> counts[C] : counts[K])
inline check() {
  assert(is_lost || (seen & TWICE) == 0);
  assert(is_lost || (seen & acked) == acked);
  assert(is_lost || (seen & denied) == 0) }

inline set_number(x, n) {
  number[x] = n; holds[x] = 0 }

inline append(x, i) {
  if
  :: is_void(x, i)
#ifndef NOID
  :: !is_void(x, i) && (ids[x] & (1 << (i)))
#endif
  :: else -> counts[x] = counts[x] + once(i); ids[x] = ids[x] | (1 << (i))
  fi }

/* The steps after the seal, by each client that finds it. */
inline make_and_move() {
  atomic { if
    :: flags[C] == 0 -> flags[C] = OPEN; counts[C] = s; ids[C] = known; floor[C] = low;
       set_number(C, (is_plain_maker -> ASSIGNED : open_number(low))); check()
    :: else
    fi };
  atomic { if :: flags[K] != 0 -> flags[K] = MOVED; set_number(K, ASSIGNED) :: else fi;
    s = 0; known = 0; low = 0; making--; check() } }

inline read(x) {
  s = counts[x]; known = ids[x]; low = floor[x];
  if :: flags[x] == SEALED -> making++ :: else fi }

proctype Writer(byte i) { byte x = K, token, s, known; bit low; bool repeated = false;
  bool is_plain_maker = is_plain(i);
  atomic { if :: flags[K] == MOVED -> x = C :: true fi; token = open_number(0) };
step:
#ifdef BLIND
  token = ANY;
#endif
  if
  :: atomic { flags[x] == 0 }; goto out /* reported as LOST */
  :: atomic { flags[x] != 0 && !is_plain(i) && compares(x, token, of_writer(i)) ->
       append(x, i); set_number(x, open_number(low)); acked = acked | once(i); check() }; goto out
  :: atomic { flags[x] != 0 && !is_plain(i) && !compares(x, token, of_writer(i)) }
  :: atomic { flags[x] != 0 && is_plain(i) -> append(x, i); set_number(x, ASSIGNED); check() }
  :: atomic { !repeated && LOSES(i) -> repeated = true;
       if
       :: is_plain(i) -> lost[i] = x + 1 + 2 * ANY
       :: !is_plain(i) && token == ASSIGNED && holds_number(x, of_writer(i)) ->
          holds[x] = holds[x] | of_copy(i); lost[i] = x + 1
       :: !is_plain(i) && token == ASSIGNED && !holds_number(x, of_writer(i))
       :: else -> lost[i] = x + 1 + 2 * token
       fi }; goto step
  fi;
  if
  :: atomic { flags[x] == 0 }; goto out /* the same */
  :: atomic { flags[x] == SEALED -> read(x) };
     if
     :: atomic { (known & (1 << i)) == 0 && !(low && i == 0) ->
          denied = denied | once(i); making--; check() }; goto out
     :: true
     fi;
     make_and_move(); x = C; token = open_number(0); goto step
  :: atomic { flags[x] == MOVED -> x = C; token = open_number(0) }; goto step
#ifdef NOLOOK
  :: atomic { flags[x] != OPEN -> low = floor[x]; token = number[x]; holds[x] = holds[x] | of_writer(i) }; goto step
#endif
  :: atomic { flags[x] == OPEN && floor[x] && i == 0 }; goto out /* in doubt, and reported */
  :: atomic { flags[x] == OPEN && is_plain(i) && !(floor[x] && i == 0) -> acked = acked | once(i); check() }
  :: atomic { flags[x] == OPEN && !is_plain(i) && !(floor[x] && i == 0) ->
       low = floor[x]; token = number[x];
       if
       :: token == ASSIGNED -> holds[x] = holds[x] | of_writer(i)
#ifdef NOTOKEN
       :: token == ASSIGNED -> token = ANY
#endif
       :: token != ASSIGNED
       fi }; goto step
  :: atomic { !is_plain(i) && is_sure -> denied = denied | once(i); check() } /* its time is over */
  fi;
out: atomic { x = 0; token = 0; s = 0; known = 0; low = 0; repeated = false } }

/* A first copy arrives. */
inline arrive(i) {
  atomic { lost[i] != 0 -> at = (lost[i] - 1) & 1;
    if
    :: flags[at] != 0 && compares(at, (lost[i] - 1) >> 1, of_copy(i)) ->
       append(at, i); set_number(at, (is_plain(i) -> ASSIGNED : open_number(floor[at]))); check()
    :: else
    fi; lost[i] = 0; at = 0 } }

proctype Net() { byte at;
end: do
  :: arrive(0)
  :: arrive(1)
#if W > 2
  :: arrive(2)
#endif
  od }

/* Freezes a key, reads it and writes it, again and again. */
proctype Rewriter(byte me) { byte x, token, s, known; bit low; bool is_plain_maker = is_plain_rewriter(me);
again:
  atomic { s = 0; known = 0; low = 0; token = 0;
#ifdef SMALL
    if :: flags[K] == MOVED -> goto out :: else -> x = K fi };
#else
    if :: x = K :: flags[K] == MOVED -> x = C fi };
#endif
#ifndef NOFREEZE
  atomic { if
#ifdef REPEATS
    :: number[x] != ASSIGNED -> set_number(x, FROZEN)
#else
    :: number[x] != ASSIGNED || is_plain_rewriter(me) -> set_number(x, ASSIGNED)
#endif
    :: else
    fi };
#endif
  atomic { if
    :: flags[x] == 0 -> goto out
    :: flags[x] == MOVED -> goto again
    :: flags[x] == SEALED -> read(x); goto make
    :: flags[x] == OPEN -> read(x); token = number[x]
    fi;
    if
    :: token == ASSIGNED -> holds[x] = holds[x] | me
#ifndef NOFREEZE
    :: token != ASSIGNED && token != FROZEN -> goto again
#endif
    :: else
    fi };
  atomic { if
    :: flags[x] == 0 || !compares(x, token, me) -> goto again
    :: flags[x] != 0 && compares(x, token, me) ->
       flags[x] = OPEN; counts[x] = s; ids[x] = known;
       if
       :: true /* compacts it */
       :: !floor[x] -> floor[x] = 1; ids[x] = ids[x] & 254 /* and forgets */
       :: x == K -> flags[K] = SEALED
       fi;
       set_number(x, (is_plain_rewriter(me) -> ASSIGNED : open_number(floor[x])));
#ifndef KEEPS
       if :: flags[x] == SEALED -> set_number(x, ASSIGNED) :: else fi;
#endif
       check();
       if :: flags[x] == SEALED -> read(x) :: else -> goto again fi
    fi };
make:
  make_and_move();
  goto again;
out: atomic { x = 0 } }

#ifdef EVICT
proctype Evict() { byte x;
  atomic {
#ifdef AFTER
    making == 0;
#endif
    if :: x = K :: x = C fi;
    flags[x] = 0; counts[x] = 0; ids[x] = 0; floor[x] = 0; set_number(x, ASSIGNED); x = 0 } }
#endif

init { atomic { flags[K] = OPEN; number[K] = open_number(0);
  run Writer(0); run Writer(1);
#if W > 2
  run Writer(2);
#endif
  run Net(); run Rewriter(1); run Rewriter(2);
#ifdef EVICT
  run Evict();
#endif
  } }
