/* Slots of a limit, form WINDOW: at most LIMIT takes in any W ticks by the clocks of their callers. A slot
   has two ticks, a window K slots, so that it lies in K + 1 neighbouring ones. Each of TAKERS adds the key
   of its slot, increments it, and reads the K slots before it and the K after it, each at its own time.
   It passes if no K + 1 neighbouring slots that contain its own hold more than LIMIT, else it decrements
   once. Clocks are up to SKEW ticks ahead. A batch and its reads end within DELAY ticks. Replies may be
   lost, and requests without a reply may arrive at any later time. A key expires TTL ticks after its
   add: the shortest time that holds; the code takes more than twice as long.
     bound   in W ticks, at most LIMIT pass
     once    of a take, at most one increment is executed
   -DBEFORE  the slots after the own one are not read
   -DFIXED   no other slot is read
   -DFIRST   the slots are read before the increment
   -DEIGHT   K neighbouring slots hold LIMIT, not K + 1
   -DAGAIN   a decrement without a reply is repeated
   -DLOST    an increment without a reply is taken back
   -DREPEAT  an increment without a reply is repeated
   -DSETKEY  the key is written by set
   -DSHORT   a key lives for a window and a delay, without the difference of the clocks */
#define SKEW 1
#define DELAY 1
#define TAKERS 3
#define LIMIT 1
#ifdef SMALL
#define K 1
#define END 3
#else
#define K 2
#define END 5
#endif
#define W (2 * K)
#define NEAR (2 * K + 1)
#ifdef SHORT
#define TTL (W + DELAY)
#else
#define TTL (W + SKEW + DELAY)
#endif
#define SLOTS ((END + SKEW) / 2 + K + 1)
#ifdef EIGHT
#define HELD K
#else
#define HELD (K + 1)
#endif

#ifdef BEFORE
#define skips(i) (i > K)
#else
#ifdef FIXED
#define skips(i) (i != K)
#else
#define skips(i) false
#endif
#endif

byte now = 0;
bool there[SLOTS];
byte count[SLOTS], ends[SLOTS];
byte passed[END + SKEW + 1];
byte begun = 0; /* takers: one like another, so they begin in their order */

inline increment() {
#ifdef SETKEY
  there[slot] = true; count[slot] = 0; ends[slot] = now + TTL;
#else
  if
  :: !there[slot] -> there[slot] = true; count[slot] = 0; ends[slot] = now + TTL
  :: else
  fi;
#endif
  count[slot]++;
  assert(!counted);
  counted = true
}

inline decrement() {
  count[slot] = (there[slot] && count[slot] > 0 -> count[slot] - 1 : count[slot])
}

/* Of the neighbouring slots that contain the own one, sets most to what they hold. */
inline add_up() {
  most = 0;
  for (first : (K + 1 - HELD) .. K) {
    sum = 0;
    for (i : first .. first + HELD - 1) { sum = sum + held[i] }
    if :: sum > most -> most = sum :: else fi
  }
}

inline pass() {
  passed[time]++;
  for (first : 0 .. time) {
    if
    :: first + W > time ->
       sum = 0;
       for (i : first .. first + W - 1) {
         if :: i <= END + SKEW -> sum = sum + passed[i] :: else fi
       }
       assert(sum <= LIMIT)
    :: else
    fi
  }
}

/* No slot is before the first. */
inline to_next() {
  do
  :: next < NEAR && (next == K || slot + next < K || skips(next)) -> next++
  :: else -> break
  od
}

inline read_slots() {
  atomic { next = 0; to_next() };
  do
  :: atomic { next < NEAR && now <= until ->
       if :: there[slot + next - K] -> held[next] = count[slot + next - K] :: else fi;
       next++; to_next() }
  :: atomic { next < NEAR && now > until -> next = NEAR + 1 }
  :: next >= NEAR -> break
  od
}

proctype Taker(byte me) {
  byte time, slot, until, next, i, first, sum, most;
  byte held[NEAR];
  bool counted = false, fine = false;
end:
  atomic {
    begun == me && now < END;
    begun++;
    if :: time = now :: time = now + SKEW fi;
    slot = time / 2; until = now + DELAY
  };
#ifdef FIRST
  read_slots();
#endif
  /* The increment has a reply; or it has none, and is executed at some time, or after all else. */
  if
  :: atomic { now <= until -> increment(); held[K] = count[slot]; fine = true }
  :: atomic { now <= until -> until = 0 }
#ifdef LOST
     atomic { decrement() }
#endif
     atomic { increment() }
#ifdef REPEAT
     atomic { increment() }
#endif
  :: now > until
  fi;
  if
  :: fine ->
#ifdef FIRST
     skip
#else
     read_slots()
#endif
  :: else
  fi;
  if
  :: fine && next == NEAR ->
     atomic {
       add_up();
       if :: most <= LIMIT -> pass() :: else -> fine = false fi;
       i = 0; first = 0; sum = 0; most = 0; next = 0; time = 0; until = 0;
       for (i : 0 .. NEAR - 1) { held[i] = 0 };
       i = 0
     };
     if
     :: !fine ->
        /* The decrement is executed at some time, or after all else. */
        atomic { decrement() }
#ifdef AGAIN
        atomic { decrement() }
#endif
     :: else
     fi
  :: else
  fi
}

active proctype Clock() {
  byte s;
  do
  :: atomic { now < END ->
       now++;
       for (s : 0 .. SLOTS - 1) {
         if :: there[s] && ends[s] <= now -> there[s] = false; count[s] = 0; ends[s] = 0 :: else fi
       }
       s = 0 }
  :: now == END -> break
  od
}

init {
  byte taker;
  atomic { for (taker : 0 .. TAKERS - 1) { run Taker(taker) } }
}
