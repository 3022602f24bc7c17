"""What nearly all events of a flood are: a warm environment ends a message, and takes the next."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

from model.course import CUT_OFF, DONE

if TYPE_CHECKING:
    from model.engine import Engine


def run_warm(engine: Engine) -> bool:
    """As long as nothing else happens: ends of done messages, and next messages for environments that are warm.

    What the engine's _ask, _invoke, _begin and _end do then, in one piece with nothing looked up twice: half the time.
    Returns whether there was any of it.
    """
    if engine.flood.batch_size > 1:
        return False
    ends, asking, idle = engine.ends, engine.asking, engine.environments.idle
    slowed, at_full_speed, timeout_s = engine.slowed, engine.at_full_speed, engine.flood.timeout_s
    take, warm_s, fails, current = engine.messages.take, engine.warm_s, engine.fails, engine.current
    start, end = engine.attempts.started_s.append, engine.attempts.ended_s.append
    hand_over_s = engine.flood.hand_over_s
    call_s = engine.later[0][0] if engine.later else inf
    now_s, virtual_s, running, begun, left = engine.now_s, engine.virtual_s, engine.running, engine.begun, engine.left
    while ends:
        end_s = ends[0][0]
        if slowed:
            progress = at_full_speed / running if running > at_full_speed else 1.0
            end_s = now_s + (end_s - virtual_s) / progress if end_s > virtual_s else now_s
        if asking and asking[0] < end_s:
            ask_s = asking[0]
            if ask_s >= call_s or not idle or (message := take(ask_s)) is None:
                break
            virtual_s = virtual_s + (ask_s - now_s) * progress if slowed else ask_s
            now_s = asking.popleft()
            own_s, outcome = next(warm_s), next(fails) if fails else DONE
            if own_s > timeout_s and not slowed:
                own_s, outcome = timeout_s, CUT_OFF
            begun += 1
            running += 1
            environment = idle.pop()
            one = (virtual_s + own_s, begun, environment, [message], now_s, now_s + timeout_s, now_s, outcome)
            heappush(ends, one)
            if slowed:
                current[environment] = one
                if not engine.watched[environment]:
                    engine.watch(environment, one[5])
                    call_s = engine.later[0][0] if engine.later else inf
        else:
            one = ends[0]
            environment = one[2]
            if end_s >= call_s or one[7] or (slowed and current[environment] is not one):
                break
            heappop(ends)
            current[environment] = None
            now_s, virtual_s = end_s, one[0]
            running -= 1
            left -= 1
            start(one[6])
            end(now_s)
            idle.append(environment)
            asking.append(now_s + hand_over_s)
    any_of_it = begun > engine.begun or left < engine.left
    engine.now_s, engine.virtual_s, engine.running, engine.begun, engine.left = now_s, virtual_s, running, begun, left
    return any_of_it
