/* The count of the segments of a stream, from which a reader that knows nothing of the stream learns
   that the last ones are lost. Writers append records; a segment takes LIMIT of them, and what is
   appended later is void. The store may lose one segment, and the count once before that.
   A writer reads the count, makes the segment by add, appends, reads the count and writes it by
   compare-and-set or add; others run between any two requests, and a writer may die before it has
   written the count. It acknowledges a record in a segment after the first when the count includes the
   segment. If its add has made a segment that the count includes already, that segment was lost: it
   appends the record again with a flag.
   At the end, where an acknowledged record was lost, a reader finds a segment missing below the
   count or before another, a header that names another segment than the one before, or the flag. A
   record that is lost while the count is lost too is not missed. The store loses nothing between the
   first read of the count and the add that follows it in the batch.
   -DNOCOUNT   acknowledges without the count
   -DSMALLER   the count does not include the last segment
   -DSETCOUNT  writes the count by set
   -DNOCHECK   does not read the count before it makes a segment
   -DNONEXT    does not look for a later segment when it makes the count again
   -DSMALL     fewer records */
#define WRITERS 2
#define LIMIT 2
#ifdef SMALL
#define PUSHES 3
#else
#define PUSHES 4
#endif
#define SEGMENTS 4
#ifdef SMALLER
#define includes(p) (p)
#else
#define includes(p) ((p) + 1)
#endif

byte records[SEGMENTS];  /* in the segment that is there, plus 1; 0: it is missing */
byte life[SEGMENTS], named[SEGMENTS]; /* its incarnation, and the one before that its header names; 0: none */
byte lives = 0;
bool flagged[SEGMENTS];  /* a record in it tells of a loss */
byte acked[SEGMENTS];    /* records of this incarnation that were acknowledged */
byte count = 0, version = 0; /* 0: there is none */
bool uncounted = false;  /* the count was lost, and no record whose writer has seen it since was acknowledged */
bool missed = false;     /* an acknowledged record was lost */
bool beyond = false;     /* a record with the flag would go into a segment that this model lacks */
byte running = WRITERS;

inline make(p) {
  lives++; records[p] = 1; life[p] = lives; flagged[p] = false; acked[p] = 0;
  named[p] = (p == at && before != 0 -> before : 0) }

/* The last segment, or the one of the count less 1. */
inline locate() {
  at = SEGMENTS - 1;
  do
  :: at > 0 && records[at] == 0 -> at--
  :: else -> break
  od;
  if :: count > at + 1 -> at = count - 1 :: else fi;
  before = (at > 0 -> life[at - 1] : 0);
  if :: at > 0 && records[at - 1] == 0 -> before = 0 :: else fi }

proctype Writer() { byte at = 0, last = 0, before = 0, token = 0, k = 0, seen = 0; bool known, made, counts, late, tells = false;
  atomic { locate(); known = (records[at] != 0) };
push:
  atomic {
    if :: k == PUSHES || at >= SEGMENTS - 1 -> goto out :: else fi;
    seen = 0; made = false; counts = false; late = false };
append:
  atomic { made = (records[at] == 0);
#ifndef NOCHECK
    seen = (known -> at + 1 : count);
#endif
    if :: made -> make(at) :: else fi; known = true };
  if
  :: atomic { records[at] == 0 }; goto append /* it was lost meanwhile */
  :: atomic { records[at] > 0 ->
       records[at] = (records[at] <= LIMIT + 1 -> records[at] + 1 : records[at]);
       flagged[at] = flagged[at] || (tells && records[at] <= LIMIT + 1);
       counts = (records[at] <= LIMIT + 1) }
  fi;
  if
  :: atomic { made && seen > at && !tells -> tells = true }; goto append
  :: atomic { !counts && (tells || !(made && seen > at)) -> before = life[at]; at++; known = false; if :: at >= SEGMENTS - 1 -> beyond = beyond || tells; goto out :: else fi }; goto append
  :: atomic { counts && !(made && seen > at) }
  :: atomic { counts && made && tells }
  :: atomic { !tells && !(made && seen > at) -> goto out } /* it dies */
  fi;
#ifndef NOCOUNT
  atomic { if :: at == 0 -> goto done :: else -> last = at fi };
write:
  if
  :: atomic { count >= includes(last) -> late = uncounted }; goto done
#ifdef SETCOUNT
  :: atomic { count < includes(last) }; atomic { count = includes(last); version++; late = uncounted }
#else
  :: atomic { count < includes(last) && count == 0 };
     atomic { if :: count == 0 -> count = includes(last); version++; late = uncounted :: else -> goto write fi }
  :: atomic { count < includes(last) && count != 0 -> token = version };
     atomic { if :: count != 0 && token == version -> count = includes(last); version++; late = uncounted :: else -> goto write fi }
#endif
  fi;
#ifndef NONEXT
  atomic { if :: last + 1 < SEGMENTS && records[last + 1] != 0 -> last++; goto write :: else fi };
#endif
#endif
done:
  atomic { acked[at]++; if :: at > 0 && late -> uncounted = false :: else fi; tells = false; k++; goto push };
out: atomic { at = 0; before = 0; token = 0; seen = 0; last = 0; tells = false; known = false; running-- } }

active proctype Store() { byte p = 0;
  if
  :: atomic { count != 0 -> count = 0; version++; uncounted = true }
  :: true
  fi;
  atomic { do :: p < SEGMENTS - 1 -> p++ :: break od };
end:
  atomic { records[p] != 0 ->
    missed = (acked[p] > 0 && !uncounted && (p > 0 || count != 0));
    records[p] = 0; life[p] = 0; named[p] = 0; flagged[p] = false; acked[p] = 0 } }

active proctype Reader() { byte p = SEGMENTS - 1; bool told = false;
  atomic { running == 0 ->
    do
    :: p > 0 ->
       told = told || flagged[p] || (records[p] == 0 && count > p) ||
              (records[p] != 0 && (records[p - 1] == 0 || (named[p] != 0 && named[p] != life[p - 1])));
       p--
    :: else -> break
    od;
    told = told || flagged[0] || (records[0] == 0 && count > 0);
    assert(!missed || told || beyond) } }

init { atomic { run Writer(); run Writer() } }
