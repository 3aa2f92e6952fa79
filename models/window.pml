/* Slots and blocks of a limit, form WINDOW: at most LIMIT takes in any W ticks by the clocks of their
   callers. A slot has two ticks, a window K slots, so that it lies in K + 1 neighbouring ones; a block has
   K slots. Each of TAKERS adds and increments the key of its slot, then that of its block, and then reads
   the next block, and either the last block or those of its slots that are at most K before the own one,
   each at its own time. It passes if its own block, the next one and what it read of the last one hold at
   most LIMIT, else it decrements both keys once. Clocks are up to SKEW ticks ahead. A batch and its reads
   end within DELAY ticks. Replies may be lost, and requests without a reply may arrive at any later time. A
   key expires TTL ticks after its add; the code adds the largest difference of clocks and a slot.
     bound   in W ticks, at most LIMIT pass
     once    of a take, at most one increment of each key is executed
   -DBEFORE  the next block is not read
   -DFIXED   only the own block counts
   -DFIRST   the other keys are read before the increments
   -DBETWEEN they are read after the increment of the slot, before that of the block
   -DEIGHT   a window counts K neighbouring slots, not K + 1
   -DAGAIN   decrements without a reply are repeated
   -DLOST    increments without a reply are taken back
   -DREPEAT  increments without a reply are repeated
   -DSETKEY  the keys are written by set
   -DSHORT   a key lives for a window */
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
#ifdef SHORT
#define TTL W
#else
#define TTL (2 * W + SKEW + DELAY)
#endif
#define SLOTS ((END + SKEW) / 2 + 1)
#define BLOCKS (SLOTS / K + 2)
#ifdef EIGHT
#define REACH (K - 1)
#else
#define REACH K
#endif

byte now = 0;
bool there[SLOTS], block_there[BLOCKS];
byte count[SLOTS], ends[SLOTS], block_count[BLOCKS], block_ends[BLOCKS];
byte passed[END + SKEW + 1];
byte begun = 0; /* takers: one like another, so they begin in their order */

inline make(is_there, number, end) {
#ifdef SETKEY
  is_there = true; number = 0; end = now + TTL
#else
  if
  :: !is_there -> is_there = true; number = 0; end = now + TTL
  :: else
  fi
#endif
}

inline increment_slot() {
  make(there[slot], count[slot], ends[slot]);
  count[slot]++;
  assert(!counted);
  counted = true
}

inline increment_block() {
  make(block_there[slot / K], block_count[slot / K], block_ends[slot / K]);
  block_count[slot / K]++;
  assert(!block_counted);
  block_counted = true
}

inline decrement_slot() {
  count[slot] = (there[slot] && count[slot] > 0 -> count[slot] - 1 : count[slot])
}

inline decrement_block() {
  block_count[slot / K] = (block_there[slot / K] && block_count[slot / K] > 0 ->
                           block_count[slot / K] - 1 : block_count[slot / K])
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

inline forget_all() {
  time = 0; until = 0; next = 0; i = 0; first = 0; sum = 0
}

/* The next block, then the last block or its slots from `next` on. */
inline read_others() {
#ifndef FIXED
#ifndef BEFORE
  if
  :: atomic { now <= until ->
       sum = sum + (block_there[slot / K + 1] -> block_count[slot / K + 1] : 0);
       next = (slot > REACH -> slot - REACH : 0) }
  :: now > until -> goto over
  fi;
#else
  next = (slot > REACH -> slot - REACH : 0);
#endif
  do
  :: atomic { next < slot / K * K && now <= until ->
       sum = sum + (there[next] -> count[next] : 0); next++ }
  :: atomic { next == slot - REACH && next < slot / K * K && now <= until ->
       sum = sum + (block_there[slot / K - 1] -> block_count[slot / K - 1] : 0);
       next = slot }
  :: next < slot / K * K && now > until -> goto over
  :: next >= slot / K * K -> break
  od;
#endif
  skip
}

proctype Taker(byte me) {
  byte time, slot, until, next, i, first, sum;
  bool counted = false, block_counted = false;
end:
  atomic {
    begun == me && now < END;
    begun++;
    if :: time = now :: time = now + SKEW fi;
    slot = time / 2; until = now + DELAY
  };
#ifdef FIRST
  read_others();
#endif
  if
  :: atomic { now <= until -> increment_slot() }
  :: goto lost
  fi;
#ifdef BETWEEN
  read_others();
#endif
  if
  :: atomic { now <= until -> increment_block(); sum = sum + block_count[slot / K] }
  :: goto lost
  fi;
#ifndef FIRST
#ifndef BETWEEN
  read_others();
#endif
#endif
  atomic {
    if
    :: sum <= LIMIT -> pass(); goto over
    :: else -> forget_all()
    fi
  };
  /* The decrements are executed at some time, or after all else. */
  atomic { decrement_slot(); decrement_block() };
#ifdef AGAIN
  atomic { decrement_slot(); decrement_block() };
#endif
  goto over;
lost:
  /* No reply: the rest of the increments is executed at some time, or after all else. */
  atomic { forget_all() };
#ifdef LOST
  atomic { decrement_slot(); decrement_block() };
#endif
  atomic {
    if :: !counted -> increment_slot() :: counted fi;
#ifdef REPEAT
    increment_slot();
#endif
    increment_block()
  };
over:
  atomic { forget_all(); slot = 0; counted = false; block_counted = false }
}

active proctype Clock() {
  byte s;
  do
  :: atomic { now < END ->
       now++;
       for (s : 0 .. SLOTS - 1) {
         if :: there[s] && ends[s] <= now -> there[s] = false; count[s] = 0; ends[s] = 0 :: else fi
       };
       for (s : 0 .. BLOCKS - 1) {
         if
         :: block_there[s] && block_ends[s] <= now ->
            block_there[s] = false; block_count[s] = 0; block_ends[s] = 0
         :: else
         fi
       };
       s = 0 }
  :: now == END -> break
  od
}

init {
  byte taker;
  atomic { for (taker : 0 .. TAKERS - 1) { run Taker(taker) } }
}
