/*
 * One payout from its request to its end: two requests with one idempotency key at two nodes, two providers, polls by both nodes,
 * callbacks, failover, crashes and pauses at every step, and a person who rules. `npm run model` checks every order in which it can
 * happen; docs/laboratory/model.md names the function behind each step and the test behind each assumption.
 *
 * Each rule of the protocol can be taken out by a macro WITHOUT_…; spin then has to find what goes wrong.
 */

#ifndef REQUESTS
#define REQUESTS 2
#endif
#define PROVIDERS 2
/* The first provider, and the one after it. */
#define FIRST 0
#define NEXT 1
/* "Not found" so often in a row means never sent; so many polls, and a person has it. */
#define NOT_FOUND_AT_LEAST 2
#define POLLS_AT_MOST 3
/* A provider calls back at most so often. */
#define CALLBACKS 1

/* Of the payout, and of what a provider has. */
mtype = { absent, pending, successful, failed };
/* A key: free, claimed by a request, bound to its payout, or done with an answer that is kept. */
mtype = { free, claimed, pinned, done };
/* What a request is answered. Refused: nothing was or will be paid. Unknown is retriable or ambiguous: ask again. */
mtype = { unknown, paid, refused };
/* What a money call or a poll says. */
mtype = { Accepted, Succeeded, Refused, NotSent, NotFound, Silence };
mtype = { request, schedule, callback };

/* ---- The database ---- */
mtype key_state = free;
byte fence = 0;            /* grows with each claim */
bool leased = false;
mtype kept = unknown;      /* the answer that the key keeps */

mtype status = absent;
byte provider = FIRST;
bool handle = false;       /* the provider named it */
bool review = false;
byte asked = 0;
byte not_found = 0;
bool close_slot = false;   /* its one closing entry is posted */

short available = 2;       /* the float holds two such payouts */
short reserved = 0;
short paid_out = 0;

/* ---- Time since the record was made or moved: it may leave, it is too late to send, "not found" proves something ---- */
mtype = { young, too_late, proven };
mtype age = young;

/* ---- The providers ---- */
byte under_way[PROVIDERS]; /* orders that left and have not arrived */
mtype has[PROVIDERS] = absent;
byte arrived = 0;
byte callbacks = 0;

/* ---- What requests were answered, for the judge ---- */
bool was_paid = false;
bool was_refused = false;
byte ended = 0;

/* The judge: true in every state. It knows what providers did, and none of the rules. */
#define ONE_EXECUTION (arrived <= 1)
#define NOTHING_INVENTED (available >= 0 && reserved >= 0 && available + reserved + paid_out == 2)
#define ONE_WORD (!(was_paid && was_refused))
#define PAID_IS_TRUE (!(status == successful || was_paid) || has[FIRST] == successful || has[NEXT] == successful)
#define MAY_STILL_PAY (has[FIRST] == successful || has[NEXT] == successful || has[FIRST] == pending || has[NEXT] == pending || under_way[FIRST] + under_way[NEXT] > 0)
#define FAILED_IS_TRUE (!(status == failed || was_refused) || !MAY_STILL_PAY)
#define FLOAT_IS_RIGHT (paid_out == (status == successful -> 1 : 0) && reserved == (status == pending -> 1 : 0))

/* The judge looks after every commit, every answer and every arrival. */
inline judge() {
  assert(ONE_EXECUTION);
  assert(NOTHING_INVENTED);
  assert(ONE_WORD);
  assert(PAID_IS_TRUE);
  assert(FAILED_IS_TRUE);
  assert(FLOAT_IS_RIGHT)
}

/* The next commit is preceded by a crash, or not. What a node had in memory is lost, what left it goes on. */
#define MAY_CRASH if :: skip :: goto crashed fi

/* Posts the entry that closes the payout: the slot is there once. */
inline close(outcome) {
  assert(!close_slot);
  close_slot = true;
  reserved--;
  if
  :: outcome == successful -> paid_out++
  :: else -> available++
  fi;
  status = outcome;
  count_anew()
}

/* After a visible change the polls are counted anew. */
inline count_anew() {
  asked = 0;
  not_found = 0
}

/*
 * Decides what the fact does to the record as it was read, and commits that if the record is still at that revision; else it is decided
 * again. `whose` is the provider that says it. A poll counts if it is the schedule's next one. `old`: the grace had
 * passed when the poll was sent.
 */
inline decide(fact, actor, whose, polled, old, holds_key) {
  counts = (actor == schedule && asked == polled);
  if
#ifndef WITHOUT_PROVIDER_OF_ANSWER
  :: provider != whose -> skip /* no news of a payout that is at another provider */
  :: else ->
#else
  :: true ->
#endif
    if
    :: status == pending ->
      if
      :: fact == Accepted -> handle = true; not_found = 0; asked = asked + counts
      :: fact == Succeeded -> close(successful)
      :: fact == Refused -> close(failed)
      :: fact == NotSent ->
        /* Only the request itself knows that nothing left. */
        if
        :: actor == request || !handle -> close(failed)
        :: else -> skip
        fi
      :: fact == NotFound ->
        if
        :: counts && not_found + 1 >= NOT_FOUND_AT_LEAST && old && !handle -> close(failed)
        :: else -> not_found = not_found + counts; asked = asked + counts
        fi
      :: fact == Silence -> asked = asked + counts
      fi;
      if
#ifndef WITHOUT_POLLS_AT_MOST
      :: status == pending && asked >= POLLS_AT_MOST -> review = true
#endif
      :: else -> skip
      fi
    :: status == failed ->
      if
      :: fact == Succeeded || fact == Accepted -> review = true
      :: else -> skip
      fi
    :: else -> skip
    fi;
    /* The request's own commit keeps its answer, where the outcome is final. */
    if
    :: holds_key && key_state == pinned && status == successful -> key_state = done; kept = paid
    :: holds_key && key_state == pinned && status == failed -> key_state = done; kept = refused
    :: else -> skip
    fi
  fi;
  judge()
}

inline apply(fact, actor, whose, polled, old, holds_key) {
#ifdef WITHOUT_REVISION
  /* Decides on the record as it was read, and overwrites what came in between. */
  d_step { read = status };
  d_step {
    if
    :: read == pending && status != pending && (fact == Succeeded || fact == Refused) -> status = pending; close_slot = false
    :: else -> skip
    fi;
    decide(fact, actor, whose, polled, old, holds_key)
  }
#else
  d_step { decide(fact, actor, whose, polled, old, holds_key) }
#endif
}

/* A request is answered from the record, as it stands. */
inline from_record() {
  if
  :: status == successful && !review -> answer = paid
  :: status == failed && !review -> answer = refused
  :: else -> answer = unknown
  fi
}

inline answered() {
  d_step {
    was_paid = was_paid || answer == paid;
    was_refused = was_refused || answer == refused;
    judge()
  }
}

/* ---- One request at one node ---- */
proctype Request() {
  byte mine = 0;
  byte to = FIRST;
  mtype outcome = Silence;
  mtype answer = unknown;
  bool counts = false;
  bool goes_on = false;
#ifdef WITHOUT_REVISION
  mtype read;
#endif

  /* Idempotency.claim: one statement. */
  atomic {
    if
    :: key_state == done -> answer = kept; goto answer_it
#ifndef WITHOUT_PINNED_KEY
    :: key_state == pinned -> from_record(); goto answer_it
#endif
    :: key_state == claimed && leased -> goto answer_it
    :: key_state == free || (key_state == claimed && !leased) ->
      fence++; mine = fence; key_state = claimed; leased = true
#ifdef WITHOUT_PINNED_KEY
    :: key_state == pinned -> fence++; mine = fence
#endif
    fi
  }
  MAY_CRASH;

  /* It may be refused before a payout is made: the refusal is kept. */
  if
  :: skip
  :: atomic { true ->
#ifndef WITHOUT_FENCE_OF_REFUSAL
      if
      :: key_state == claimed && fence == mine -> key_state = done; kept = refused; answer = refused
      :: else -> answer = unknown
      fi;
#else
      key_state = done; kept = refused; answer = refused;
#endif
      judge();
      goto answer_it
    }
  :: atomic { true -> /* retriable: nothing is kept, and the key is free again */
      if
      :: key_state == claimed && fence == mine -> key_state = free; leased = false
      :: else -> skip
      fi;
      goto answer_it
    }
  fi;

  /* FloatLedger.open: the key's fence, the float, the record, in one commit. */
  atomic {
    if
#ifdef WITHOUT_PINNED_KEY
    :: fence != mine -> goto answer_it
#else
#ifndef WITHOUT_FENCE
    :: key_state != claimed || fence != mine -> goto answer_it /* the claim was lost */
#endif
#endif
    :: else ->
      available--; reserved++;
      status = pending; provider = FIRST; age = young;
      key_state = pinned; leased = false;
      judge()
    fi
  }
  MAY_CRASH;

send:
#ifdef WITHOUT_REROUTE_BEFORE_SENDING
send_first:
#endif
  /* Failover.send: it leaves, or it is known that nothing left. */
  atomic {
    if
#ifndef WITHOUT_TIME_LIMIT
    :: age != young -> outcome = NotSent; goes_on = false /* paused for too long */
    :: age == young ->
#else
    :: true ->
#endif
      if
      :: under_way[to]++; outcome = Silence; goes_on = false
      :: outcome = NotSent; goes_on = (to == FIRST) /* the connection was refused, or the circuit is open */
      fi
    fi
  }
  MAY_CRASH;

#ifdef WITHOUT_REROUTE_BEFORE_SENDING
  if
  :: outcome == NotSent && goes_on -> to = NEXT; goto send_first
  :: to == NEXT && provider == FIRST && status == pending ->
    MAY_CRASH;
    d_step { provider = NEXT; age = young; count_anew() }
  :: else -> skip
  fi;
#endif

  /* The provider's answer, or silence after the time limit. */
  if
  :: outcome == NotSent -> skip
  :: outcome == Silence && has[to] == pending -> outcome = Accepted
  :: outcome == Silence && has[to] == successful -> outcome = Succeeded
  :: outcome == Silence && has[to] == failed -> outcome = Refused
  :: outcome == Silence -> skip
  fi;
  MAY_CRASH;

#ifndef WITHOUT_REROUTE_BEFORE_SENDING
  /* After NotSent alone it goes on, and the record is moved first. */
  if
#ifndef WITHOUT_FAILOVER_AFTER_NOT_SENT_ALONE
  :: outcome == NotSent && goes_on && age == young ->
#else
  :: (outcome == NotSent && goes_on && age == young) || (outcome == Silence && to == FIRST) ->
#endif
    d_step {
      if
      :: status == pending && provider == FIRST && !handle ->
        provider = NEXT; count_anew(); to = NEXT;
        age = young;
        judge()
      :: else -> goes_on = false
      fi
    };
    MAY_CRASH;
    if
    :: to == NEXT -> goto send
    :: else -> skip
    fi
  :: else -> skip
  fi;
#endif

  apply(outcome, request, to, 0, false, true);
  from_record();
  /* Silence is answered as what it is. */
  if
  :: outcome == Silence || outcome == Accepted -> answer = unknown
  :: else -> skip
  fi;

answer_it:
  answered();
crashed:
  atomic { ended++; mine = 0; to = FIRST; outcome = Silence; answer = unknown; counts = false; goes_on = false }
}

/*
 * The record is read, and one status query answered, as one step: that the grace has passed is seen later than in the program, which reads
 * before it asks.
 */
inline ask() {
  whose = provider;
  polled = asked;
#ifndef WITHOUT_GRACE
  old = (age == proven);
#else
  old = true;
#endif
  if
  :: has[whose] == absent -> fact = NotFound
  :: has[whose] == pending && age != proven -> fact = NotFound /* it does not find yet what has just arrived */
  :: has[whose] == pending -> fact = Accepted
  :: has[whose] == successful -> fact = Succeeded
  :: has[whose] == failed -> fact = Refused
  :: fact = Silence
  fi
}

inline forget() {
  whose = FIRST; polled = 0; old = false; counts = false; fact = Silence; actor = schedule
}

/*
 * ---- The poller of a node: on schedule, or for a callback, which may be forged. Both nodes may ask at the same time. `slow`: what it is
 * answered is applied whenever it comes. Of two nodes one is, so that an answer may be overtaken by any other. ----
 */
proctype Poller(bool slow) {
  byte whose;
  byte polled;
  bool old;
  bool counts = false;
  mtype fact = Silence;
  mtype actor = schedule;
#ifdef WITHOUT_REVISION
  mtype read;
#endif

again:
  do
  :: atomic {
      if
      :: status == pending && !review -> actor = schedule
      :: callbacks < CALLBACKS && status != absent -> callbacks++; actor = callback
      :: status != pending && ended == REQUESTS -> break
      :: review -> break
      fi;
      ask();
      if
      :: slow -> goto answer
      :: else -> apply(fact, actor, whose, polled, old, false); forget()
      fi
    }
  od;
  goto over;
answer:
  atomic { apply(fact, actor, whose, polled, old, false); forget(); goto again };
over:
  skip
}

/* ---- A provider. It takes every order that arrives: none is recognised as a repetition. ---- */
proctype Provider(byte me) {
end:
  do
  :: atomic { under_way[me] > 0 ->
      under_way[me]--;
      if
      :: arrived++; if :: has[me] == absent -> has[me] = pending :: else -> skip fi
      :: skip /* it was lost on the way */
      fi;
      judge()
    }
  :: atomic { has[me] == pending ->
      if
      :: has[me] = successful
      :: has[me] = failed
      fi;
      judge()
    }
  od
}

/* ---- Time: a lease ends, a record grows too old to be sent, and the grace outlasts what is under way. ---- */
proctype Time() {
end:
  do
  :: d_step { leased -> leased = false }
  :: d_step { status == pending && age == young -> age = too_late }
#ifndef WITHOUT_GRACE_LONGER_THAN_CALLS
  :: d_step { age == too_late && under_way[FIRST] + under_way[NEXT] == 0 -> age = proven }
#else
  :: d_step { age == too_late -> age = proven }
#endif
#ifdef WITHOUT_ASKING
  /* A timer that fails what is old. */
  :: d_step { status == pending && age == proven && !close_slot -> close(failed); judge() }
#endif
  od
}

/* ---- A person rules on what was left to one, with the provider's word for it. ---- */
proctype Person() {
end:
  do
  :: d_step { review && status == pending && has[provider] == successful -> review = false; close(successful); judge() }
  :: d_step { review && status == pending && age == proven && (has[provider] == failed || has[provider] == absent) ->
      review = false; close(failed); judge() }
  od
}

init {
  atomic {
    run Request();
#if REQUESTS > 1
    run Request();
#endif
    run Poller(true); run Poller(false);
    run Provider(FIRST); run Provider(NEXT);
    run Time(); run Person()
  }
}

/* Every payout ends or is a person's, once nothing is started any more. */
ltl ends { <>[] (ended == REQUESTS && (status != pending || review)) }
