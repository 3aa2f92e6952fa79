/* The lock: add a token, draw a fence, read back; compare before deleting. Expiry, eviction and
   restart are the process Expire, at any moment.
   -DART_UNLOCK  unlocks by a plain delete (the article's way)
   -DF_BEFORE    draws the fence before the add
   -DF_AFTER     draws it after, but does not read back */
#define N 3
byte owner=0;            /* 0 = key absent, else token of the acquisition */
byte tok=0;              /* ghost: acquisition counter = token written by add (unique) */
byte F=0;                /* fence key */
byte lastacq=0, lastf=0; /* ghost: newest verified acquisition and its fence */
byte maxexp=3;
active proctype Expire() {
  do :: atomic { maxexp>0 && owner!=0 -> owner=0; maxexp-- } :: maxexp==0 -> break :: timeout -> break od }
active [N] proctype Client() {
  byte mine, f; bool ok;
  byte rounds=0;
  do :: rounds<2 ->
     rounds++; ok=false; mine=0; f=0;
#ifdef F_BEFORE
     atomic { F++; f=F }
#endif
     atomic { if :: owner==0 -> tok++; owner=tok; mine=tok :: else -> mine=0 fi }
     if :: mine==0 -> skip
     :: else ->
#ifndef F_BEFORE
       atomic { F++; f=F }
#endif
#if !defined(F_BEFORE) && !defined(F_AFTER)
       atomic { if :: owner==mine -> ok=true :: else -> ok=false fi }
#else
       ok=true;
#endif
       if :: ok ->
          /* fences must be ordered like acquisitions */
          atomic { if :: mine>lastacq -> assert(f>lastf); lastacq=mine; lastf=f
                      :: mine<lastacq -> assert(f<lastf) :: else fi }
       :: else fi;
       /* critical section of any length, then unlock */
#ifdef ART_UNLOCK
       atomic { assert(owner==0 || owner==mine); owner=0 }
#else
       atomic { if :: owner==mine -> owner=0 :: else fi }
#endif
     fi
  :: rounds>=2 -> break
  od
}
