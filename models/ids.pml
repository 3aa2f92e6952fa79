/* Ids: a key with the next number, which the store may forget LOSSES times, and one add that may arrive
   late. Clocks are up to D ticks ahead of the true time, another each time that one is read. An id is a
   tick: a range has one. TAKERS read the key, then the clock, then write by cas.
     unique   no id is granted twice
     early    no id is granted before its time by the clock of the taker
   -DNOSPREAD a key is made at the clock of its maker
   -DEARLY    a range is used before its time
   -DAFTER    a range is taken ahead of its time, and used when this has come, without a second look
   -DADDNUM   the add has the number, and no mark is made
   -DMARKNUM  a mark is taken for a number
   -DSETKEY   the key is written by set */
#define D 1
#define TAKERS 2
#define LOSSES 2
#ifdef SMALL
#define END 5
#else
#define END 6
#endif
#define NONE 0
#define MARK 1
#define NUMBER 2
#define IDS (END + 3 * D + 3)

byte now = 0;
byte state = NONE, next = 0;
bool fresh[TAKERS];    /* the token that the taker has read is that of the key */
bool used[IDS];
byte losses = 0;
bool late = false, was_late = false; /* an add under way, with this number */
byte late_next = 0;

inline write(to_state, to_next) {
  state = to_state; next = to_next;
  fresh[0] = false; fresh[1] = false
}

inline read_clock() {
  if :: clock = now :: clock = now + D fi
}

inline grant(id) {
  assert(id < IDS);
  assert(!used[id]);
  used[id] = true
}

proctype Taker(bit me) {
  byte seen, number, clock, id;
  do
  :: now < END ->
     atomic { seen = state; number = next; fresh[me] = (state != NONE) }
#ifdef MARKNUM
     if :: seen == MARK -> seen = NUMBER :: else fi;
#endif
     atomic { read_clock() }
     if
     :: seen == NONE ->
        number = 0;
#ifdef ADDNUM
        number = clock + D + 1;
#endif
        atomic {
          if
          :: state == NONE ->
#ifdef ADDNUM
             write(NUMBER, number)
#else
             write(MARK, 0)
#endif
          :: !was_late -> was_late = true; late = true; late_next = number
          :: true
          fi
        }
     :: seen == MARK ->
        atomic {
          if
          :: fresh[me] ->
#ifdef NOSPREAD
             write(NUMBER, clock + 1)
#else
             write(NUMBER, clock + D + 1)
#endif
          :: else
          fi
        }
     :: seen == NUMBER ->
        id = (number > clock -> number : clock);
#ifdef AFTER
        atomic { if :: id < IDS && fresh[me] -> write(NUMBER, id + 1) :: else -> id = IDS fi };
        if
        :: id < IDS -> atomic { now >= id || now == END -> if :: now >= id -> grant(id) :: else fi }
        :: else
        fi
#else
        atomic {
          if
#ifdef EARLY
          :: fresh[me] && id < IDS -> write(NUMBER, id + 1); grant(id)
#else
#ifdef SETKEY
          :: id <= clock && state != NONE -> write(NUMBER, id + 1); grant(id)
#else
          :: id <= clock && fresh[me] -> write(NUMBER, id + 1); grant(id)
#endif
#endif
          :: else
          fi
        }
#endif
     fi;
     atomic { seen = 0; number = 0; clock = 0; id = 0; fresh[me] = false }
  :: now == END -> break
  od
}

active proctype World() {
  do
  :: atomic { now < END -> now++ }
  :: atomic { state != NONE && losses < LOSSES -> losses++; write(NONE, 0) }
  :: atomic { late ->
       late = false;
       if
#ifdef ADDNUM
       :: state == NONE -> write(NUMBER, late_next)
#else
       :: state == NONE -> write(MARK, 0)
#endif
       :: else
       fi;
       late_next = 0 }
  :: now == END -> break
  od
}

init {
  atomic { run Taker(0); run Taker(1) }
}
