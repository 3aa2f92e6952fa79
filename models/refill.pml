/* Refill: a value whose time ends while a caller fills it again. The claim is under a key of its own and names the
   value; a key without a value is claimed by a stub in its place. Two fetchers look, claim, renew once or not, and
   store. A writer changes the source and forgets the key, or makes the value stale. Time passes: a value is shown
   for V ticks, and the store keeps it one tick longer; a claim lives for F ticks.
     alone    no caller gets a claim while another's lives, unless the key was forgotten since
     renewed  no claim is renewed after its key was forgotten
     stale    no version is shown that is older than the last one acknowledged before the look
   -DOVERWRITE a value whose time is over is replaced by a stub
   -DNOKEEP    the store may expire the value before the claim
   -DNOEXTEND  a renewal does not keep the value
   -DBLIND     a renewal does not look at the value
   -DOLDVIEW   a claim is over if it does not name the value that was read before the claim
   -DLATEPUT   a value is stored after the end of its claim
   -DADDFILL   a value is stored by add where that which was to be filled is gone */
#define V 1
#define F 2
#ifdef SMALL
#define END 3
#else
#define END 4
#endif
#define CHANGES 1
#ifdef LATEPUT
#define MAY_STORE true
#else
#define MAY_STORE (now < until[me]) /* by the clock of the caller */
#endif
#define NONE 0
#define STUB 1
#define VALUE 2

byte now = 0, ids = 0;
byte kind = NONE, id = 0, version = 0, shown = 0, kept = 0; /* the key, and the ticks that are left */
byte claim = 0, base = 0, lives = 0;                        /* the claim to fill the value `base` */
byte source = 1, acknowledged = 1;
/* Of each fetcher: whether it fills, until when its claim lives, whether the key was forgotten since. */
bool fills[2], over[2];
byte until[2];

inline gone() { kind = NONE; id = 0; version = 0; shown = 0; kept = 0 }

inline begin_fill() {
  assert(!fills[1 - me] || over[1 - me] || now >= until[1 - me]);
  fills[me] = true; over[me] = false; until[me] = now + F
}

proctype Fetcher(bit me) {
  byte round = 0, from, own, of_id, read, seen, seen_base;
  bit renews;
  do
  :: round < 2 && now < END ->
     atomic { round++; from = acknowledged }
     atomic {
       if
       :: kind == VALUE && shown > 0 -> assert(version >= from)
       :: else
       fi;
       if
       :: kind == NONE -> ids++; own = ids; kind = STUB; id = own; kept = F; begin_fill(); goto fill
       :: kind == STUB -> goto done
#ifdef OVERWRITE
       :: kind == VALUE && shown == 0 ->
          ids++; own = ids; kind = STUB; id = own; version = 0; kept = F; begin_fill(); goto fill
       :: kind == VALUE && shown > 0 -> of_id = id
#else
       :: kind == VALUE -> of_id = id
#endif
       fi
     };
     atomic {
       if
       :: claim == 0 -> ids++; own = ids; claim = own; base = of_id; lives = F
       :: else -> seen = claim; seen_base = base
       fi;
     };
     if
     :: own == 0 -> /* of another: it is over if the value that it names is gone */
#ifndef OLDVIEW
        atomic { if :: kind == VALUE -> of_id = id :: else -> goto done fi };
#endif
        atomic {
          if
          :: seen_base != of_id && claim == seen -> ids++; own = ids; claim = own; base = of_id; lives = F
          :: else -> goto done
          fi
        }
     :: else
     fi;
     atomic {
       if
       :: kind == VALUE && id == of_id && claim == own ->
#ifndef NOKEEP
          if :: kept < F -> kept = F :: else fi;
#endif
          begin_fill(); until[me] = now + lives
       :: else -> if :: claim == own -> claim = 0; base = 0; lives = 0 :: else fi; goto done
       fi
     };
fill:
     read = source;
     if :: renews = 1 :: renews = 0 fi;
     if
     :: renews && of_id == 0 ->
        atomic {
          if
          :: kind == STUB && id == own -> assert(!over[me]); kept = F; until[me] = now + F
          :: else -> goto done
          fi
        }
     :: renews && of_id != 0 ->
        atomic {
          if
          :: claim == own -> lives = F
          :: else -> goto done
          fi;
#ifndef BLIND
          if :: kind == VALUE && id == of_id :: else -> claim = 0; base = 0; lives = 0; goto done fi;
#endif
          assert(!over[me]);
#if !defined NOEXTEND && !defined NOKEEP
          if :: kind == VALUE && id == of_id && kept < F -> kept = F :: else fi;
#endif
          until[me] = now + F
        }
     :: else
     fi;
     atomic {
       if
       :: of_id == 0 && kind == STUB && id == own ||
          of_id != 0 && kind == VALUE && id == of_id && MAY_STORE ->
          ids++; kind = VALUE; id = ids; version = read; shown = V; kept = V + 1
#ifdef ADDFILL
       :: of_id != 0 && kind == NONE -> ids++; kind = VALUE; id = ids; version = read; shown = V; kept = V + 1
#endif
       :: else
       fi;
       if :: of_id != 0 && claim == own -> claim = 0; base = 0; lives = 0 :: else fi;
       fills[me] = false
     };
done:
     atomic { fills[me] = false; over[me] = false; until[me] = 0; from = 0; own = 0; of_id = 0; read = 0;
              seen = 0; seen_base = 0; renews = 0 }
  :: round == 2 || now == END -> break
  od
}

proctype Writer() {
  byte changes = 0, own;
  do
  :: changes < CHANGES ->
     atomic { changes++; source++; own = source };
     atomic {
       gone();
       over[0] = fills[0]; over[1] = fills[1];
       acknowledged = own
     }
  :: changes < CHANGES -> /* expire */
     atomic {
       changes++;
       if :: kind == VALUE -> ids++; id = ids; over[0] = fills[0]; over[1] = fills[1] :: else fi
     }
  :: true -> break
  od
}

active proctype Time() {
  do
  :: atomic { now < END ->
       now++;
       if :: shown > 0 -> shown-- :: else fi;
       if :: kept > 0 -> kept-- ; if :: kept == 0 -> gone() :: else fi :: else fi;
       if :: lives > 0 -> lives--; if :: lives == 0 -> claim = 0; base = 0 :: else fi :: else fi }
  :: now == END -> break
  od
}

init {
  atomic { run Fetcher(0); run Fetcher(1); run Writer() }
}
