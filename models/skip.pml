/* A store loses a key, and with it the parts of a queue that were in it. The key is never made again, so
   a part that would be placed in it cannot be made. A pusher that finds it
   lost reads the number of the last part, puts a mark in the place of a later part, and makes the next one. Each part has one job here and is closed. A worker that comes to a part whose key is
   lost looks at the number of the last part, and then for the mark.
     told    a job whose push was acknowledged is handed out, or its loss is reported
     real    a reported loss is that of a part that was made
   Not modelled: the key is lost between the push that makes a part and the raise of the number; then the loss
   may remain unreported (-DGAP).
   -DNOSKIP   a pusher puts no mark
   -DLATESKIP the mark is put after the next part was made
   -DANYSKIP  a pusher puts a mark for any part whose key is lost
   -DOLDREAD  a pusher decides by a number that it read before it found the key lost
   -DNOLAST   a worker reports a loss without a look at the number
   -DMARKFIRST a worker looks for the mark first, and then at the number */
#define PARTS 5
#define in_key(p) (p == 1 || p == 2)   /* the key that is lost */

bool lost = false;
bool made[PARTS] = false, acked[PARTS] = false, marked[PARTS] = false;
byte last = 0;

/* A worker passes a part that has a mark, and reports nothing. */
inline told(q) { assert(!(marked[q] && acked[q])) }

active proctype Store() {
end:
  do
  :: atomic { !lost -> lost = true }
  :: lost -> break
  od
}

active [2] proctype Pusher() {
  byte p, read;
  bool late = false;
  byte pushes = 0;
again:
  if :: pushes == 2 -> goto over :: else -> pushes++ fi;
  atomic { read = last; p = read };
try:
  if
  :: p == PARTS -> goto over
  :: else
  fi;
  if
  :: atomic { lost && in_key(p) };
#ifndef OLDREAD
     atomic { read = last };
#endif
#ifdef ANYSKIP
     atomic { marked[p] = true; told(p) };
#else
#ifdef LATESKIP
     if :: p > read -> late = true :: else fi;
#else
#ifndef NOSKIP
     atomic { if :: p > read -> marked[p] = true; told(p) :: else fi };
#endif
#endif
#endif
     if :: p < read -> p = read :: else -> p++ fi;
     goto try
  :: atomic { !(lost && in_key(p)) && made[p] -> p++ }; goto try
#ifdef GAP
  :: atomic { !(lost && in_key(p)) && !made[p] -> made[p] = true };
     atomic { acked[p] = true; told(p); if :: last < p -> last = p :: else fi }
#else
  :: atomic { !(lost && in_key(p)) && !made[p] ->
       made[p] = true; acked[p] = true; told(p); if :: last < p -> last = p :: else fi }
#endif
  /* it dies before the number is raised, and its push is not acknowledged */
  :: atomic { !(lost && in_key(p)) && !made[p] -> made[p] = true }; goto over
  fi;
#ifdef LATESKIP
  if :: late -> marked[p - 1] = true :: else fi;
#endif
  goto again;
over: skip
}

active proctype Worker() {
  byte p = 0;
end:
  do
  :: p == PARTS -> break
  :: atomic { p < PARTS && !(lost && in_key(p)) && made[p] -> p++ }   /* it takes the job */
  :: atomic { p < PARTS && lost && in_key(p) };
#ifdef MARKFIRST
     if
     :: atomic { marked[p] -> p++ }
     :: atomic { !marked[p] };
        if
        :: atomic { p <= last -> assert(made[p]); p++ }
        :: atomic { p > last }
        fi
     fi
#else
     if
#ifdef NOLAST
     :: skip;
#else
     :: atomic { p > last }    /* it waits */
     :: atomic { p <= last };
#endif
        if
        :: atomic { marked[p] -> p++ }
        :: atomic { !marked[p] -> assert(made[p]); p++ }
        fi
     fi
#endif
  od
}
