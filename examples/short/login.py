"""login.py STORE ADDRESS: limits the attempts to log in from one address, before the password is
checked.

An address has 5 attempts at once, and gets a new one every 12 minutes (5 an hour). All programs
with the same store share the count. The program prints the HTTP answer.
"""

import math
import sys

import mcds


def check_password():
    print("200 the password may be checked")
    return 0


def refuse(why, retry):
    print(f"429 {why}, try again in {math.ceil(retry)} s")
    return 1


def begin(attempts, address):
    try:
        take = attempts.take(address)
    except mcds.Busy:  # other attempts kept changing the same key; nothing was taken
        return refuse("too many at the same time", 1)
    except mcds.Ambiguous:  # taken or not: a refusal keeps the bound, whichever it is
        return refuse("the attempt was not understood", 1)
    except (mcds.Timeout, mcds.Unavailable) as error:
        # Nothing was taken. The choice is the program's: this one lets its visitors in, and has no
        # limit until the store is back. A bank would refuse.
        print(f"login: without a limit: {error}", file=sys.stderr)
        return check_password()
    except mcds.Error as error:  # TooOld: this machine's clock is wrong. Lost is not a result of take
        print(f"login: without a limit, call an operator: {error}", file=sys.stderr)
        return check_password()
    if not take:  # the rate refuses: retry is exact
        return refuse("too many attempts", take.retry)
    print(f"login: {take.remaining} more attempts", file=sys.stderr)
    return check_password()


def main(words):
    if len(words) != 3:
        print("usage: login.py STORE ADDRESS", file=sys.stderr)
        return 64
    try:
        with mcds.open(words[1]) as store:
            return begin(store.limit("login", rates="5/h", burst=5), words[2])
    except mcds.Error as error:
        print(f"login: {error}", file=sys.stderr)
        return 69


if __name__ == "__main__":
    sys.exit(main(sys.argv))
