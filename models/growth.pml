/* A map's key K is split: sealed, its children C and D are added from the sealed bytes, then K is
   a mark, moved. C is split the same way, into G. K, C and G are one path, K and D another.
   Any process may stop or pause between any two steps; an append whose reply is lost is repeated
   and its first copy lands at any later time or never. A token is a process's bit that any write
   of the key clears.
   A read that begins after an operation's acknowledgement sees it, none sees one twice, none sees
   less than the read before, and of two operations in sequence none sees the later first.
   -DNOLEN     a reader of a sealed key without a child takes the bytes past the sealed length too
   -DNOID      carries no ids: a repeat counts twice
   -DMOVEFIRST marks the key before it adds the children
   -DSETSEAL   seals by get and set
   -DNOFLAGS   a writer does not look whether the key was still open
   -DBYSET     marks the key by set (holds: what is sealed is never opened again)
   -DALLBYTES  makes a child from the bytes past the sealed length too (holds: their operations
               are not acknowledged yet, and the child knows their ids)
   -DRIVAL     adds a child by set
   -DEVICT     the store evicts one key at any time
   -DAFTER     with EVICT: only while none has looked at a sealed key and acts on it
   -DDEEP      one splitter goes on to split C
   -DD3        a third writer, of D; no reply is lost
   -DSMALL     fewer lost replies, one order of asking */
#ifdef D3
#define W 3
#else
#define W 2
#endif
#ifdef D3
#define LOSES(i) false
#elif defined(SMALL)
#define LOSES(i) ((i) == 0 && DEEPER == 0)
#else
#define LOSES(i) ((i) == 0 || DEEPER == 0)
#endif
#ifdef DEEP
#define DEEPER 1 /* a bit for each splitter */
#else
#define DEEPER 0
#endif
#define K 0
#define C 1
#define D 2
#define G 3
#define OPEN 1
#define SEALED 2
#define MOVED 3
#define OF_C 143 /* operations 0 and 1 are C's, and so is the sign of their order */
#define OF_D 48  /* operation 2 is D's */
#define SWAPPED 128

/* Bytes are two bits for each operation: how often it counts. */
#define bit(i) (1 << (2 * (i)))
#define has(m, i) (((m) & (3 * bit(i))) != 0)
#ifdef NOID
#define with(m, i) (((m) & (2 * bit(i))) -> (m) : (m) + bit(i))
#else
#define with(m, i) ((m) | bit(i))
#endif
#define below(x, i) ((x) == K -> ((i) == 2 -> D : C) : G)
#define part_of(m, x) ((x) == D -> (m) & OF_D : (m) & OF_C)

byte flags[4];  /* 0: the key is missing */
byte bytes[4];  /* up to the sealed length */
byte late[4];   /* past it */
byte holds[4];  /* who holds a valid token */
byte lost[W];   /* a copy on its way: to this key + 1 */
byte acked = 0;
bool in_order = false; /* operation 0 was acknowledged before operation 1 began */
bool gone = false;     /* evicted, and K began anew: told to its readers as reborn */
byte making = 2; /* how many may be between looking at a sealed key and what follows */

inline append(x, i) {
  if
  :: flags[x] == OPEN ->
     if :: i == 1 && !has(bytes[x], 0) && !has(bytes[x], 1) -> bytes[x] = bytes[x] | SWAPPED :: else fi;
     bytes[x] = with(bytes[x], i)
#if defined(NOLEN) || defined(ALLBYTES)
  :: flags[x] == SEALED -> late[x] = with(late[x], i)
#endif
  :: else
  fi;
  holds[x] = 0 }

inline add(x, from) {
  if
#ifndef RIVAL
  :: flags[x] != 0
#endif
  :: else -> flags[x] = OPEN; bytes[x] = part_of(from, x); late[x] = 0; holds[x] = 0
  fi }

inline get_sealed(x, to) {
#ifdef ALLBYTES
  to = bytes[x] | late[x]
#else
  to = bytes[x]
#endif
}

proctype Writer(byte i) {
  byte x = K, s; bool repeated = false;
  atomic { if :: i == 1 -> in_order = has(acked, 0) :: else fi;
    if /* where its handle remembers the operation's place to be */
    :: x = K
    :: i < 2 && flags[C] != 0 -> x = C
    :: i < 2 && flags[G] != 0 -> x = G
    :: i == 2 && flags[D] != 0 -> x = D
    fi }
step:
  if
  :: atomic { flags[x] != 0 -> append(x, i) }
  :: atomic { flags[x] != 0 && !repeated && LOSES(i) -> repeated = true; lost[i] = x + 1 }; goto step
#ifdef EVICT
  :: atomic { flags[x] == 0 && x != K }; goto out /* LOST, and told */
  :: atomic { flags[x] == 0 && x == K -> s = flags[below(K, i)] };
     if /* put back, or begun anew */
     :: atomic { s != 0; if :: flags[K] == 0 -> flags[K] = MOVED; holds[K] = 0 :: else fi }
     :: atomic { s == 0; if :: flags[K] == 0 -> flags[K] = OPEN; bytes[K] = 0; holds[K] = 0; gone = true :: else fi }
     fi; goto step
#endif
  fi;
#ifndef NOFLAGS
  if
  :: atomic { flags[x] == SEALED -> get_sealed(x, s); making++ };
     atomic { x = below(x, i); add(x, s); s = 0; making-- }; goto step
  :: atomic { flags[x] == MOVED -> x = below(x, i) }; goto step
  :: atomic { flags[x] == OPEN -> acked = acked | bit(i) }
#ifdef EVICT
  :: atomic { flags[x] == 0 } /* in doubt, and told */
#endif
  fi
#else
  acked = acked | bit(i)
#endif
out: x = 0 }

proctype Net() { byte i;
end: do
  :: atomic { lost[0] != 0 -> append(lost[0] - 1, 0); lost[0] = 0 }
  :: atomic { lost[1] != 0 -> append(lost[1] - 1, 1); lost[1] = 0 }
#if W > 2
  :: atomic { lost[2] != 0 -> append(lost[2] - 1, 2); lost[2] = 0 }
#endif
  od }

inline mark(x) {
  do
  :: atomic { flags[x] == SEALED -> holds[x] = holds[x] | me };
     atomic { if
#ifdef BYSET
       :: true -> flags[x] = MOVED; bytes[x] = 0; late[x] = 0; holds[x] = 0; break
#else
       :: holds[x] & me -> flags[x] = MOVED; bytes[x] = 0; late[x] = 0; holds[x] = 0; break
       :: else
#endif
       fi }
  :: atomic { flags[x] != SEALED -> break }
  od }

proctype Splitter(byte me) { byte x = K, s;
again:
  atomic { if
    :: flags[x] == OPEN -> s = bytes[x]; holds[x] = holds[x] | me
    :: flags[x] == SEALED -> get_sealed(x, s); goto children
    :: flags[x] == MOVED -> goto next
#ifdef EVICT
    :: flags[x] == 0 && x == K -> goto out
#endif
    fi };
  atomic {
#ifdef SETSEAL
    flags[x] = SEALED; bytes[x] = s; holds[x] = 0
#else
    if :: holds[x] & me -> flags[x] = SEALED; holds[x] = 0 :: else -> goto again fi
#endif
  };
children:
#ifdef MOVEFIRST
  mark(x);
#endif
  if
  :: x == K ->
     if
     :: atomic { true -> add(C, s) };
#if W > 2
        atomic { add(D, s) }
     :: atomic { true -> add(D, s) }; atomic { add(C, s) }
#endif
     fi
  :: else -> atomic { add(G, s) }
  fi;
#ifndef MOVEFIRST
  mark(x);
#endif
next: atomic { s = 0; if :: x == K && (me & DEEPER) -> x = C; goto again :: else fi };
out: atomic { x = 0; s = 0; making-- } }

#ifdef EVICT
proctype Evict() { byte x;
  atomic {
#ifdef AFTER
    making == 0;
#endif
    if :: x = K :: x = C :: x = G fi; flags[x] = 0; bytes[x] = 0; holds[x] = 0 } }
#define LOST goto out
#else
#define LOST assert(false)
#endif

/* What a read in no time sees. */
inline truth(to) {
  if
  :: flags[G] != 0 && child == C -> to = bytes[G]
  :: else ->
     if
     :: flags[child] != 0 && flags[child] != MOVED -> sealed_or_all(child, to)
     :: flags[child] == 0 && flags[K] != 0 && flags[K] != MOVED -> sealed_or_all(K, to)
     :: else -> LOST
     fi
  fi;
  to = to & mine }

inline sealed_or_all(x, to) {
#ifdef NOLEN
  to = (flags[x] == SEALED -> bytes[x] | late[x] : bytes[x])
#else
  to = bytes[x]
#endif
}

#ifdef SMALL
#define after(mask) (asked & (mask))
#else
#define after(mask) true
#endif

/* The deepest that is there counts. */
inline look(l, x) {
  asked = asked | (1 << l);
  if
  :: flags[x] != 0 && l >= level -> level = l; f = flags[x];
     if :: f == MOVED -> r = 0 :: else -> sealed_or_all(x, r) fi
  :: else
  fi }

/* A multi-get of the path that asks in any order, or a walk from any level that its handle may
   remember. It sees what was there when it began and nothing that is not there when it ends: so
   reads do not go back either. */
proctype Reader() { byte level = 0, f = 0, asked = 0, must, r = 0, mine = OF_C, child = C; bool walk = false;
#if W > 2
  if :: mine = OF_C; child = C :: mine = OF_D; child = D; asked = 4 fi;
#endif
  atomic {
    making++; truth(must); r = acked & mine; assert((must & r) == r); r = 0;
    if
    :: look(0, K); if :: walk = true :: skip fi
    :: flags[child] != 0 -> look(1, child); walk = true
    :: child == C && flags[G] != 0 -> look(2, G); walk = true
#ifndef SMALL
    :: look(1, child)
    :: child == C -> look(2, G)
#endif
    fi };
  do
  :: atomic { (!walk || (level == 0 && f == SEALED)) && !(asked & 2) && after(1) -> look(1, child) }
  :: atomic { (!walk || (level == 1 && f == SEALED)) && !(asked & 4) && after(2) -> look(2, G) }
  :: atomic { !walk && !(asked & 1) -> look(0, K) }
  :: atomic { f == MOVED && (walk || asked == 7) -> /* below a moved one it is asked for once more */
     if
     :: level == 0 -> look(1, child); if :: level == 0 -> LOST :: else fi
     :: level == 1 -> look(2, G); if :: level == 1 -> LOST :: else fi
     fi }
  :: atomic { f != MOVED && (asked == 7 || (walk && (f == OPEN || f == 0 || (asked & (2 << level))))) ->
#ifdef EVICT
     if :: f == 0 -> goto out :: else fi;
     if :: level == 0 && gone -> goto out :: else fi;
#endif
     r = r & mine;
     assert((r & must) == must);
     assert((r & 42) == 0);
     assert(!(in_order && has(r, 1) && (r & SWAPPED)));
#ifndef EVICT
     truth(must);
     assert((r & must & 127) == (r & 127));
#endif
     break }
  od;
out: atomic { level = 0; f = 0; asked = 0; walk = false; must = 0; r = 0; making-- } }

init { atomic { flags[K] = OPEN;
  run Writer(0); run Writer(1);
#if W > 2
  run Writer(2);
#endif
  run Net(); run Splitter(1); run Splitter(2); run Reader();
#ifdef EVICT
  run Evict();
#endif
  } }
