/* Cache: an item and its generation. A fetcher reads the item, then the generation; it shows a value of this
   generation, or claims the item, reads the source and stores what it has read. Another fetcher looks. Two
   writers commit a version of the source, then set the generation to a new number. The first may delete the
   item instead, or with HOLDS hold the generation before its commit and then die: the hold ends by itself.
   FAULTS happen: the store forgets the item, and its tokens begin again; it forgets the generation; a request
   without a reply arrives late, once. A request may also not be sent.
     stale    no version is shown that is older than the last one acknowledged before the fetch
   -DSAMEID   each try of a claim has the same id
   -DFIRST    the source is read before the claim
   -DSETFILL  the value is stored by set
   -DADDFILL  the value is added where the claim is gone
   -DGENLATE  the generation of a value is read after the source
   -DNOLOOK   a value is shown without a look at the generation
   -DOLDTOKEN a token of before the loss of the item is used after it
   -DCOUNT    a generation is the one before and 1
   -DSAMEBUMP each try of a change of the generation has the same number
   -DHOLDS    the first writer holds; with it:
   -DSETHOLD  a hold is written by set
   -DTOUCH    the generation of a stored value is renewed, whatever its state */
#if defined SMALL && defined HOLDS
#define FAULTS 0
#elif defined SMALL || defined HOLDS
#define FAULTS 1
#else
#define FAULTS 2
#endif
#ifdef OLDTOKEN
#define FILLS true
#define ROUNDS (1 + me)
#else
#define FILLS (me == 0) /* the other only looks */
#define ROUNDS 1
#endif
#define NONE 0
#define CLAIM 1
#define VALUE 2
#define ALIVE 1
#define HELD 2
#define LATE_ADD 1
#define LATE_FILL 2
#define LATE_BUMP 3

byte kind = NONE, id = 0, version = 0, under = 0; /* the item */
byte state = NONE, number = 0;                    /* the generation */
byte numbers = 0, source = 1, acknowledged = 1;
bool touched = false;
byte faults = 0;
/* Whether what each has read last is still there: the fetchers, the late request, the holder. */
bool same[2], late_same, hold_same;
bool old[2];             /* tokens of before the item was lost */

byte late = NONE, late_id = 0, late_version = 0, late_under = 0;
bool was_late = false;
byte late_by = 2;

inline put_item(to_kind, to_id, to_version, to_under) {
  kind = to_kind; id = to_id; version = to_version; under = to_under;
  same[0] = false; same[1] = false; late_same = false;
#ifdef OLDTOKEN
  if
  :: kind != NONE && old[0] -> old[0] = false; same[0] = true
  :: kind != NONE && old[1] -> old[1] = false; same[1] = true
  :: true
  fi
#endif
}

inline put_generation(to_state, to_number) {
  state = to_state; number = to_number; touched = false; hold_same = false
}

inline new_number(out) {
#ifdef COUNT
  out = number + 1
#else
  numbers++; out = numbers
#endif
}

#ifdef SETFILL
#define MAY_FILL(its) true
#else
#ifdef ADDFILL
#define MAY_FILL(its) (its || kind == NONE)
#else
#define MAY_FILL(its) its
#endif
#endif

inline send_later(what, its_id, its_version, its_under, its_same) {
  faults++; was_late = true; late = what; late_id = its_id; late_version = its_version;
  late_under = its_under; late_same = its_same
}
#define CAN_BE_LATE (!was_late && faults < FAULTS)

inline get_item() {
  atomic { seen = kind; seen_id = id; got = version; got_under = under;
           same[me] = (kind != NONE); old[me] = 0 }
}

inline get_generation() {
  atomic { seen_state = state; generation = number }
}

proctype Fetcher(bit me) {
  byte round = 0, from, seen, seen_id, got, got_under, seen_state, generation, own, read;
  do
  :: round < ROUNDS ->
     atomic { round++; from = acknowledged }
again:
     get_item();
     get_generation();
     if
     :: seen_state == NONE && !FILLS -> goto done
     :: seen_state == NONE && FILLS ->
        atomic { if :: state == NONE -> new_number(generation); put_generation(ALIVE, generation)
                    :: else fi };
        goto again
     :: else
     fi;
#ifdef NOLOOK
     if :: seen == VALUE -> assert(got >= from); goto done :: else fi;
#else
     if :: seen == VALUE && got_under == generation -> assert(got >= from); goto done :: else fi;
#endif
     if
     :: seen_state == HELD -> goto done /* the source is read, and nothing is stored */
     :: seen == CLAIM || !FILLS -> goto done /* of another fetch */
     :: else
     fi;
#ifdef FIRST
     read = source;
#endif
claim:
     atomic {
#ifdef SAMEID
       own = 1 + 2 * me;
#else
       own = 1 + 2 * me + (late_by == me -> 1 : 0); /* no request had this id before */
#endif
       if
       :: seen == NONE && kind == NONE -> put_item(CLAIM, own, 0, 0)
       :: seen == VALUE && same[me] -> put_item(CLAIM, own, 0, 0)
       :: seen == NONE && CAN_BE_LATE -> send_later(LATE_ADD, own, 0, 0, false); late_by = me; goto claim
       :: else
       fi
     };
     get_item();
     if :: seen == CLAIM && seen_id == own :: else -> goto done fi;
#ifndef FIRST
     read = source;
#endif
#ifdef GENLATE
     get_generation();
#endif
fill:
     atomic {
       if
       :: MAY_FILL(same[me]) -> put_item(VALUE, own, read, generation);
#ifdef TOUCH
          if :: state != NONE -> touched = true :: else fi;
#endif
          goto done
       :: CAN_BE_LATE -> send_later(LATE_FILL, own, read, generation, same[me])
       :: true /* not sent */
       fi
     };
     get_item();
     if :: seen == CLAIM && seen_id == own -> goto fill :: else fi;
done:
     atomic { from = 0; seen = 0; seen_id = 0; got = 0; got_under = 0; seen_state = 0; generation = 0;
              own = 0; read = 0; same[me] = false; old[me] = 0 }
  :: round == ROUNDS -> break
  od
}

/* Set the generation to another number until this is acknowledged. */
inline bump() {
  atomic { new_number(fresh) };
  do
  :: atomic { put_generation(ALIVE, fresh) }; break
  :: atomic { CAN_BE_LATE -> send_later(LATE_BUMP, 0, 0, fresh, false);
#ifndef SAMEBUMP
       new_number(fresh)
#endif
     }
  od
}

proctype Writer(bit holds) {
  byte own, seen_state, generation, fresh;
  bit held = 0;
#ifdef HOLDS
  if
  :: holds ->
     atomic { seen_state = state; generation = number; hold_same = (state != NONE) };
     atomic {
       if
#ifdef SETHOLD
       :: seen_state != NONE -> put_generation(HELD, generation); held = 1
#else
       :: hold_same -> put_generation(HELD, generation); held = 1
#endif
       :: else
       fi
     }
  :: !holds
  fi;
#endif
  atomic { hold_same = false; seen_state = 0; generation = 0; source++; own = source };
  if
  :: held -> goto dead
  :: true ->
     if
#ifndef HOLDS
     :: holds -> atomic { put_item(NONE, 0, 0, 0) } /* a late delete is one more loss */
#endif
     :: bump()
     fi;
     atomic { if :: acknowledged < own -> acknowledged = own :: else fi }
  fi;
dead:
  skip
}

active proctype World() {
end:
  do
  :: atomic { kind != NONE && faults < FAULTS -> /* and tokens begin again */
       faults++; old[0] = same[0]; old[1] = same[1]; put_item(NONE, 0, 0, 0) }
  :: atomic { state == ALIVE && faults < FAULTS -> faults++; put_generation(NONE, 0) }
  :: atomic { state == HELD -> /* the hold is over: the next fill reads what was committed */
       acknowledged = source;
       if :: touched -> touched = false; state = ALIVE :: else -> put_generation(NONE, 0) fi }
  :: atomic { late != NONE ->
       if
       :: late == LATE_ADD && kind == NONE -> put_item(CLAIM, late_id, 0, 0)
       :: late == LATE_FILL && MAY_FILL(late_same) -> put_item(VALUE, late_id, late_version, late_under)
       :: late == LATE_BUMP -> put_generation(ALIVE, late_under)
       :: else
       fi;
       late = NONE; late_id = 0; late_version = 0; late_under = 0; late_same = false }
  od
}

init {
  atomic { run Fetcher(0); run Fetcher(1); run Writer(1); run Writer(0) }
}
