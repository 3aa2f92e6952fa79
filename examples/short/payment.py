"""payment.py STORE EVENT TEXT: a payment hook. The provider sends each event at least once, perhaps
several times at once; the hook acts on it at most once. It prints the HTTP answer: after 503, the
provider sends the event again.

The table "payments" has an entry for each event: "claimed TOKEN", then "done". The token is random,
so a caller knows its own claim again after a lost reply.

If the process dies between claim and "done", nobody knows whether it has acted. The claim stays,
and every later delivery gets 503. A person looks at the account, and then runs
`mcds table put payments EVENT done` or `mcds table remove payments EVENT`. A claim that expires by
itself would make this "at least once". If the act is a row in your own database, a unique index on
the event does all of this, and needs no table here.

Use a store that keeps its entries: lmdb:. A memcached that restarts forgets what was paid.
"""

import secrets
import sys

import mcds

CLAIM_TRIES = 3


def answer(status, text):
    print(status, text, flush=True)
    return 0 if status == 200 else 75


def claim_event(payments, event):
    """None if this process acts; otherwise the entry of another process."""
    claim = f"claimed {secrets.token_hex(12)}".encode()
    for tries_left in reversed(range(CLAIM_TRIES)):
        try:
            if payments.put_if_absent(event, claim):
                return None
            break
        except mcds.Ambiguous:
            # Repeating it with the same token is harmless, also if the first arrives later.
            if tries_left == 0:
                raise
    found = payments[event]
    return None if found == claim else found


def pay(payments, event, text):
    try:
        found = claim_event(payments, event)
    except mcds.Lost as error:  # whether this event was paid is lost too: a person must look
        print(f"payment: stop the hook: {error}", file=sys.stderr)
        return answer(503, "the store has lost payments")
    except mcds.Error as error:
        # Ambiguous: a claim that nobody acts on may stay, as if this process had died. NotFound: a
        # person has removed it. Busy, Timeout, Unavailable: no claim, so the next delivery acts.
        print(f"payment: {error}", file=sys.stderr)
        return answer(503, "not claimed")
    if found is not None:
        return answer(200, "done before") if found == b"done" else answer(
            503, "claimed by another process")
    print(f"act: {text}", flush=True)
    try:
        payments[event] = b"done"
    except mcds.Error as error:
        # The act is done, so the answer is 200. The claim stays for a person.
        print(f"payment: {event} is done, but says claimed: {error}", file=sys.stderr)
    return answer(200, "done")


def main(words):
    if len(words) != 4:
        print("usage: payment.py STORE EVENT TEXT", file=sys.stderr)
        return 64
    try:
        with mcds.open(words[1]) as store:
            return pay(store.table("payments"), words[2], words[3])
    except mcds.Error as error:
        return answer(503, error)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
