/* The parts of a queue: the order of the records in a part decides who gets which job. A part takes
   one job here and is closed then; a pusher that sees a closed part opens the next one with its
   record. A record whose reply is lost is repeated with its id, and a copy may arrive late. A claim
   ends at its deadline; tries count the claims of a job and are the receipt of its holder. A worker
   that finds a part closed and without jobs opens the next one, raises the head, and then gives the
   part an end: its entry stays longer than any request is under way. Workers die between two steps.
   Each stripe of a queue is such a sequence of parts; the numbers of all stripes are one entry, and a raise changes one of them.
   A part is rewritten by compare-and-set as any key of a map is (growth.pml), which changes nothing here.
     kept     a job whose push was acknowledged is found from the head until a worker is done
     alone    no job is handed to a second worker while the first one has its claim
     done     a job that is done is not handed out again, and is not a dead job
     erased   nor is a dead job that was discarded
   -DPOP      a claim removes the job
   -DNOID     a repeated or late record counts again
   -DNOTRY    a worker gives a job back without its receipt
   -DOPENS    a push opens a part that is missing, whatever its writer knows
   -DSTALE    a pusher that finds its part closed opens the next one without a look at the numbers
   -DNOHEAD   a part gets its end before the head is raised
   -DSKIP     the head passes a closed part whose job is claimed
   -DDEADLAST a job with too many tries is removed first and then kept among the dead
   -DNORECORD a done that comes late erases the dead job, and leaves no done record for a worker that is burying it
   -DLATEDEAD a done that comes late leaves the dead job
   -DUNMARKED a job is copied to a dead job without a mark in its part
   -DKEEPJOB  a discard leaves the job in its part, where the call that has made it dead may have left it
   -DBARE     a discard erases the entry of the dead job, and leaves no done record
   -DNOENTRY   a part that is finished is erased at once */
#define JOBS 1
#define PARTS 3
#define WORKERS 2
#define TRIES 1
#define CLAIMS (TRIES + 2)   /* of a job, in this model */
#define NONE 255

mtype = { ABSENT, OPEN, CLOSED, ENDED };
mtype is[PARTS] = ABSENT;
byte job[PARTS] = NONE;      /* the job in it; NONE: none */
bool waits[PARTS] = false;   /* it is not claimed */
byte tries[PARTS] = 0;
bool dying[PARTS] = false;   /* a copy of it may be made */
byte holder[PARTS] = NONE;   /* the worker whose claim has not ended; a late claim has none */
byte known[PARTS] = 0;       /* the outcome of the record in doubt, which the part keeps with its id */
byte head = 0, tail = 0;
bool acked[JOBS] = false, finished[JOBS] = false, dead[JOBS] = false;
bool reported[JOBS] = false; /* a done or a discard has begun */
bool erased[JOBS] = false;   /* by a discard */
bool recorded[JOBS] = false;   /* in the place of the dead job */
byte late = NONE, late_part = NONE;  /* a copy of a push under way */
bool late_opens = false;
byte calls = 0;              /* calls in doubt, or that have read the numbers: a done record outlives them */
byte lateclaim = NONE;       /* a copy of a claim under way, whose worker gave it up */
byte faults = 0;

hidden byte kj, kp;
/* Each acknowledged job that is not done is among the dead, or in a part to which the walk leads. */
inline kept() {
  kj = 0;
  do
  :: kj < JOBS ->
     if
     :: acked[kj] && !reported[kj] && !dead[kj] ->
        kp = head;
        do
        :: kp < PARTS && is[kp] != ABSENT && job[kp] != kj -> kp++
        :: else -> break
        od;
        assert(kp < PARTS && is[kp] != ABSENT)
     :: else
     fi;
     kj++
  :: else -> break
  od
}

/* Append a push of job j to part p; sets `said`: 1 taken, 2 closed, 3 absent. */
inline push(p, j, opens) {
  said = 0;
  if
  :: is[p] == ABSENT && !(opens) -> said = 3
  :: is[p] == ABSENT && (opens) -> is[p] = OPEN
  :: else
  fi;
  if
  :: said == 0 && is[p] == OPEN ->
     is[p] = CLOSED; job[p] = j; waits[p] = true; tries[p] = 0; dying[p] = false; said = 1
  :: said == 0 && is[p] != OPEN -> said = 2
  :: else
  fi
}

/* The pusher has looked at the numbers of the parts since it began, so no entry of a part after them
   ends before it does. */
inline numbers() {
  fresh = true; calls++;
  if :: tail > p -> p = tail :: else fi
}

/* After a refusal: look, or open a part that no one can have finished. */
inline refused() {
  if
#ifdef STALE
  :: !fresh && said == 2 -> fresh = true; calls++; p++; opens = true
  :: !fresh && said == 3 -> numbers(); opens = false
#else
  :: !fresh -> numbers(); opens = false
#endif
  :: else ->
     if
     :: said == 2 && p < tail && !opens -> p = tail
     :: said == 2 && (p >= tail || opens) -> p++; opens = true
     :: said == 3 && p < tail -> p = tail
     :: said == 3 && p >= tail -> opens = true
     fi
  fi
}

proctype Pusher(byte j) {
  byte p, said;
  bool opens = false, fresh = false;
  /* what its handle remembers, for as long as it likes */
  atomic { if :: p = 0 :: p = tail fi };
again:
  if
  /* the reply comes */
  :: atomic { p < PARTS ->
#ifdef OPENS
       push(p, j, true);
#else
       push(p, j, opens);
#endif
       if
       :: said == 1 -> acked[j] = true; kept(); goto over
       :: else -> refused()
       fi }
  /* it is lost: the record was taken, or arrives late; it is repeated until an answer comes */
  :: atomic { p < PARTS && faults == 0 ->
       faults++;
       if
       :: push(p, j, opens)
       :: said = 0
       fi;
       if :: said > 0 -> known[p] = said :: else fi;
       late = j; late_part = p; late_opens = opens; calls++ };
     if
     :: atomic {
#ifdef NOID
          push(p, j, opens);
#else
          if :: known[p] > 0 -> said = known[p] :: else -> push(p, j, opens); known[p] = said fi;
#endif
          calls--;
          if
          :: said == 1 -> acked[j] = true; kept(); goto over
          :: else -> refused()
          fi }
     :: atomic { calls--; goto over }    /* AMBIGUOUS */
     fi
  :: p >= PARTS -> goto over
  fi;
  goto again;
over:
  atomic { if :: fresh -> calls-- :: else fi; p = 0; said = 0; opens = false; fresh = false }
}

/* A job becomes a dead job, unless it has a done record. */
inline bury(j) {
  if :: recorded[j] -> skip :: else -> dead[j] = true fi;
  assert((!finished[j] && !erased[j]) || !dead[j])
}

/* A done of a dying job is that of a worker whose claim has ended. */
inline mark(p) {
#ifndef UNMARKED
  dying[p] = true
#else
  skip
#endif
}

inline end(p) {
  job[p] != NONE && !waits[p] -> waits[p] = true; holder[p] = NONE
}

/* The late copy; a part that has taken or refused it knows its id. */
active proctype World() {
  byte said;
  do
  :: atomic { late != NONE ->
       if
#ifndef NOID
       :: known[late_part] > 0 -> skip
       :: else -> push(late_part, late, late_opens); known[late_part] = said
#else
       :: push(late_part, late, late_opens)
#endif
       fi;
       late = NONE }
  :: atomic { late != NONE -> late = NONE }
  :: atomic { lateclaim != NONE ->
       if
       :: is[lateclaim] == CLOSED && job[lateclaim] != NONE && waits[lateclaim] && tries[lateclaim] < TRIES ->
          waits[lateclaim] = false; tries[lateclaim]++; holder[lateclaim] = NONE
       :: else
       fi;
       lateclaim = NONE }
  /* an entry or a record ends when no request that was sent before it can be under way */
  :: atomic { late == NONE && lateclaim == NONE && calls == 0 && is[0] == ENDED -> is[0] = ABSENT; known[0] = 0; kept() }
  :: atomic { late == NONE && lateclaim == NONE && calls == 0 && is[1] == ENDED -> is[1] = ABSENT; known[1] = 0; kept() }
  /* others open the first part, and fill parts with jobs that are done */
  :: atomic { is[0] == ABSENT && head == 0 -> is[0] = OPEN }
  :: atomic { is[0] == OPEN -> is[0] = CLOSED }
  :: atomic { is[1] == OPEN -> is[1] = CLOSED }
  /* a claim ends: the deadline of its holder has passed */
  :: atomic { end(0) }
  :: atomic { end(1) }
  :: atomic { end(2) }
  od
}

proctype Worker(byte me) {
  byte p, j, t;
look:
  atomic { p = head; j = 0; t = 0 };
walk:
  if
  /* the append of a claim, and its reply */
  :: atomic { p < PARTS && is[p] == CLOSED && job[p] != NONE && waits[p] && tries[p] < CLAIMS ->
       j = job[p]; tries[p]++; t = tries[p];
#ifdef POP
       job[p] = NONE; kept();
#else
       waits[p] = false;
#endif
       assert(holder[p] == NONE);
       holder[p] = me;
       assert(!finished[j] && !erased[j]) };
     if
     /* one worker more accepts more tries */
     :: t > TRIES && (me > 0 || t == CLAIMS) ->
#ifdef DEADLAST
        atomic { if :: job[p] == j && tries[p] == t -> job[p] = NONE; holder[p] = NONE; kept() :: else fi };
        if :: dead[j] = true :: goto look fi
#else
        atomic {
          if
          :: job[p] == j && tries[p] == t -> mark(p)
          :: else -> goto look
          fi };
        atomic { bury(j) };
        atomic { if :: job[p] == j -> job[p] = NONE; holder[p] = NONE :: else fi }
#endif
     :: else ->
        if
        /* done; whoever says it. The receipt is old: LOST, after the dead job is erased */
        :: skip;
finish:    atomic { reported[j] = true;
             if
             :: job[p] == j && tries[p] == t && !dying[p] ->
                job[p] = NONE; holder[p] = NONE; finished[j] = true; assert(!dead[j])
             :: job[p] == j && (tries[p] != t || dying[p]) -> job[p] = NONE; holder[p] = NONE; t = 0
             :: else -> t = 0
             fi };
           if
           :: atomic { t == 0 ->
#ifndef LATEDEAD
                dead[j] = false;
#endif
#ifndef NORECORD
                recorded[j] = true;
#endif
                finished[j] = true; assert(!dead[j]) }
           :: t > 0 -> skip
           fi
        /* again, of the last try: the job is held, then it becomes a dead job, and then it is removed */
        :: atomic { t == TRIES && job[p] == j && !waits[p] && tries[p] == t -> holder[p] = me; mark(p) };
           /* its result is in doubt, before the copy or after it: done, with the same receipt */
           if
           :: goto finish
           :: skip
           fi;
           atomic { bury(j) };
           if
           :: goto finish
           :: skip
           fi;
           atomic { if :: job[p] == j -> job[p] = NONE; holder[p] = NONE :: else fi }
        /* again */
        :: atomic {
#ifdef NOTRY
             if :: job[p] == j && !waits[p] -> waits[p] = true; if :: holder[p] == me -> holder[p] = NONE :: else fi
#else
             if :: job[p] == j && !waits[p] && tries[p] == t -> waits[p] = true; holder[p] = NONE
#endif
             :: else fi }
        /* it dies, and another takes its place; or its claim ends first */
        :: skip
        fi
     fi;
     goto look
  :: atomic { p < PARTS && is[p] == CLOSED && job[p] != NONE && faults == 0 ->
       faults++; lateclaim = p };
     goto look
  /* a discard of the dead job that it has read */
  :: atomic { p == head && dead[j] -> reported[j] = true };
#ifndef KEEPJOB
     atomic {
       p = 0;
       do :: p < PARTS && job[p] != j -> p++ :: else -> break od;
       if :: p < PARTS -> job[p] = NONE; holder[p] = NONE :: else fi };
#endif
     atomic {
#ifdef BARE
       if :: dead[j] || recorded[j] -> dead[j] = false; recorded[j] = false; erased[j] = true :: else fi };
#else
       if :: dead[j] -> dead[j] = false; recorded[j] = true; erased[j] = true :: else fi };
#endif
     goto look
#ifdef SKIP
  :: atomic { p < PARTS - 1 && is[p] == CLOSED && p == head -> calls++ }; goto move
#endif
  :: atomic { p < PARTS - 1 && is[p] == CLOSED && job[p] == NONE && p == head -> calls++ }; goto move
  :: atomic { p < PARTS - 1 && (is[p] == CLOSED || is[p] == ENDED) -> p++ }; goto walk
  :: atomic { is[p] == ABSENT || is[p] == OPEN || p == PARTS - 1 -> p = head }; goto walk
  fi;
move:
#ifdef NOENTRY
  atomic { if :: is[p] == CLOSED -> is[p] = ABSENT; known[p] = 0; kept() :: else fi };
#endif
#ifdef NOHEAD
  atomic { if :: is[p] == CLOSED -> is[p] = ENDED :: else fi };
#endif
  atomic { if :: is[p + 1] == ABSENT -> is[p + 1] = OPEN :: else fi };
  if
  :: atomic { if :: head < p + 1 -> head = p + 1 :: else fi; kept();
              if :: tail < p + 1 -> tail = p + 1 :: else fi };
     if
     :: atomic { if :: is[p] == CLOSED -> is[p] = ENDED :: else fi }
     :: skip
     fi
  :: skip
  fi;
  calls--;
  goto look
}

init {
  byte i;
  atomic {
    i = 0;
    do :: i < JOBS -> run Pusher(i); i++ :: else -> break od;
    i = 0;
    do :: i < WORKERS -> run Worker(i); i++ :: else -> break od
  }
}
