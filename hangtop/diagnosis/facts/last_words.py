"""The last lines of a log that nobody writes any more: do they tell of a death, or of an end?

Only their order makes words proof: what is said last, by a process that is gone, and after the last step. The same words in the
middle of a log prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.common.late_pattern import late_pattern
from hangtop.common.memo import memoized
from hangtop.diagnosis.facts.caught_errors import before_logged, caught, caught_last, is_new, without_ignored
from hangtop.diagnosis.facts.silence_limits import FINISH
from hangtop.diagnosis.members.writer_presence import nobody_writes
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import Finding, LogLine

LAST_LINES = 6
"""A shell, a launcher and the interpreter say a line or two each after the program's own last one."""
TRACEBACK_LINES = 40
"""What handles an error says so above its traceback."""
ANEW_S, ANEW_MOST_S, GAPS = 3.0, 5.0, 3.0
"""A program may open its log anew for each line: nobody has it open between two lines. So long, or so many of its own step gaps,
it is given to write the next one."""

LEFT_S, LEFT_MOST_S, LEFT_GAPS = 8.0, 12.0, 10.0
"""The same for one that said nothing of an end."""

ALIKE = 2
"""Lines before it in the same words make the last one a line of the run's course."""
OFTEN = 2
"""Of so many errors in a row the program caught the ones before the last at least."""

_EXCEPTION = r"^(?:[\w.]*\.)?(?:[A-Z]\w*(?:Error|Exception|Interrupt|Fault|Failure)|Exception)\b(?::|\(|$)"
_RAISED = late_pattern(_EXCEPTION)
"""The last line of a traceback."""
_DIED = late_pattern(
    _EXCEPTION + r"|\b(?:[Ff]ail(?:ed|ure)?|FAILED|[Aa]bort(?:ed)?|[Pp]anic(?:ked)?|[Aa]ssert\w*|[Ff]atal|FATAL)\b"
    r".{0,160}\bat '?[\w./-]+[.:]\w+:\d+"
    r"|\bline \d+: +\d+ (?:Killed|Terminated|Hangup|Aborted|Bus error|Segmentation fault|Illegal instruction|Floating point exc)"
    r"|^(?:zsh: )?(?:[Kk]illed|[Aa]bort(?:ed)?|[Bb]us error|[Ss]egmentation fault|[Ii]llegal instruction|[Tt]erminated)\b"
    r"|\bcore dumped\b|\bnon-?zero exit\b"
    r"|\bexit(?:ed|ing|s)?(?: with)?(?: exit)?(?: |-)?(?:code|status)[ :=]{0,3}-?[1-9]|\breturncode[ =:]+-?[1-9]"
    r"|\b(?:end(?:ed|s)?|finished|stopped|gone|dead|died|left|returned|failed|over|terminated)\W{1,3}(?:with )?(?:an? )?"
    r"(?:exit |return )?(?:code|status|rc)[ :=]{0,3}-?[1-9]"
    r"|\b(?:killed by|caught|received|got|died (?:of|from|with)) signal[ :]+\d|\b(?:killed by|died of) SIG[A-Z]+"
    r"|^=+ (?:\d+ passed, )?\d+ (?:failed|errors?)\b.* in [\d.]+s"
    r"|^(?:FATAL|CRITICAL|PANIC|panic|fatal(?: error)?)\b[ :]"
)
_LEAKED = late_pattern(r"resource_tracker: There appear to be \d+ leaked|leaked (?:semaphore|shared_memory) objects")
"""The tracker of multiprocessing cleans up after a process that left nothing in order: one that a signal ended
(multiprocessing/resource_tracker.py). Some programs leave so after a good end, too."""
_EARLY = late_pattern(
    r"(?i)\bearly[- _]?stop(?:ping|ped)?\b(?![ \w]{0,12}(?:counter|patience|callback|enabled|disabled|metric|=))"
    r"|\bstopp(?:ed|ing) (?:the |training )*early\b|\bstopp(?:ing|ed) training\b|\bsignaling trainer to stop\b"
    r"|\b(?:no|not|n't|without)\b.{0,24}\bimprov\w+.{0,60}\bstop"
    r"|\b(?:abort|skip|cancel|drop|stop)\w* (?:the )?(?:remaining|rest of)\b"
    r"|\bpatience (?:of \d+ )?(?:is |was )?(?:exhausted|exceeded|over|ran out)"
    r"|\btraining (?:is |was |has been )?stopped(?!.*\b(?:error|exception|fail|crash|abort|signal|killed))"
    r"|\btime(?: limit| budget)? (?:is |was |has been )?(?:over|up|reached|spent|used up)\b"
    r"|\bexiting (?:the )?(?:program|training|run) (?:at (?:iter\w*|step|epoch)"
    r"|after (?:receiving|[\d.]+ (?:min|h|s|iter|step|epoch)))"
    r"|\breached (?:the )?max\w*[ _](?:steps?|epochs?|iter\w*|time)\b"
    r"|^stopping\. best (?:iteration|epoch|step)\b"
    r"|^\W{0,4}(?:solved|converged)\b|\b(?:target|goal|threshold)(?: \w+)? (?:was |has been )?(?:reached|met)\b"
)
"""Its last words where a run ends before its last step because it has what it wanted, or the time that it was given is over."""
_RUN_DONE = late_pattern(
    r"(?i)\ball (?:done|finished)\b"
    r"|\b(?:run|job|script|experiment|everything|pretraining|fine-?tuning|fit|program) (?:is |has |was )?"
    r"(?:done|finished|completed?|ended|over)\b"
    r"|\b(?:finished|completed|ended|done) (?:all|the run|training)\b"
    r"|\b(?:saved|wrote|written|exported|saving) (?:the )?(?:final|last|trained)\b|\bfinal (?:model|checkpoint|weights)\b"
    r"|\bjob ['\"]?[\w.-]{1,60}['\"]? succeeded\b|^=+ \d+ passed\b.* in [\d.]+s"
    r"|\btotal (?:training |run |elapsed )?time\b|全部完成|训练完成|运行结束"
    r'|"(?:event|type|status|state|phase|msg|message)": ?"(?:(?:run|train|training|job|fit|pipeline|experiment)[_.:/-])?'
    r'(?:end(?:ed)?|finish(?:ed)?|done|complete[d]?|success(?:ful)?|succeeded)"'
)
_PART_DONE = late_pattern(
    r"(?i)^\W{0,4}(?:all )?(?:done|finished|complete[d]?|success(?:fully)?|goodbye|bye|the end)\b"
    r"|\b(?:done|finished|completed|ended) (?:in|after|successfully|at)\b"
    r"|\bsuccessfully (?:finished|completed|trained)\b"
)
"""Said of the run or of a part of it. In a line that marks a stage, or above one or above a step that is begun, it was a part."""
_KEPT = late_pattern(r"(?i)\b(?:saved|written|wrote|exported|stored|kept|uploaded|best)\b")
"""Said of what a run leaves. One that was killed says nothing behind its last step."""
_LEAVES = late_pattern(r"(?i)\b(?:saved|written|wrote|exported|stored|uploaded|kept (?:in|as|at|under))\b")
_OF_A_DEATH = late_pattern(r"(?i)\b(?:crash|emergenc|core|dump|traceback|post-?mortem|debug|diagnos|logs?\b)")
"""A crash leaves logs, dumps and emergency checkpoints."""
_BEGINS = late_pattern(
    r"(?:^|[-:|>\]] )\W{0,3}(?!Warn|Miss|Dur|Noth|Everyth|Sav|Stor|Writ|Upload|Export|Sync|Clean|Clos|Shut|Stopp|Exit|Leav"
    r"|Destroy|Delet|Remov|Releas|Finish|Finali|End)[A-Z][a-z]{2,}ing\b(?!.*(?i:\b(?:done|finish|complet|ended|success|over)))"
)
"""A step that is begun, by its first word: "Building the model". What a program does when it leaves is none."""
_COMPLAINS = late_pattern(
    r"(?i)(?<!\b0 )(?<!\bno )(?<!without )\b(?:errors?|fail(?:ed|s|ures?)?|fatal|abnormal\w*|abort\w*|corrupt\w*|crash\w*"
    r"|can ?not|can't|could ?n[o']t|unable|giving up|gave up|gives up|refused|denied|invalid|illegal|unexpected|exceeded|killed"
    r"|no such|no space|not found|is missing|not finite|out of (?:memory|space)|lost connection|unreachable)\b"
    r"|\b(?:is|are|was|became|got|to|=|:) ?(?:nan|inf)\b|错误|失败|异常|无法|放弃|失敗|エラー"
)
"""What a program says of its own trouble, in no form that a signature knows. The last words of one that has left: it is why."""
_GAVE_UP = late_pattern(
    r"(?i)(?<!0 )\b(?:can ?not|can't|could ?n[o']t|unable to|giving up|gave up|gives up)\b"
    r"|\b(?:code|status|rc)[ :=]{0,3}-?[1-9]\d*\W*$|无法|放弃|できません"
)
_CODES = late_pattern(r"(?i)\b(?:return(?:ed|code)?s?|exit(?:ed|code)?s?|codes?|status(?:es)?)\b[^\d\n]{0,24}\b0(?:\W+0)*\W*$")
"""What a launcher says last of the processes that it waited for: "trainers returned [0, 0]"."""


def over(snapshot: Snapshot) -> bool:
    """Nobody writes the log any more: proven, and no program that opens it anew for each line can be between two of them."""
    return _alone_s(snapshot) > _anew_s(snapshot)


def may_be_over(snapshot: Snapshot) -> bool:
    """Nobody writes the log, and a moment will tell whether somebody opens it anew."""
    alone_s = _alone_s(snapshot)
    if not 0.0 <= alone_s <= LEFT_MOST_S:
        return False  # what the last lines say is asked for only where it matters
    ends_short = snapshot.log.progress.step is not None and not any_end_said(snapshot)
    return alone_s <= (_left_s(snapshot) if ends_short else min(_anew_s(snapshot), ANEW_MOST_S))


def left(snapshot: Snapshot) -> bool:
    """Nobody has written for longer than any step took by far: without a word on an end that is more to ask than after one."""
    return _alone_s(snapshot) > _left_s(snapshot)


def _alone_s(snapshot: Snapshot) -> float:
    """For how long nobody has written, where it is proven that nobody writes; less than 0 elsewhere."""
    return -1.0 if not nobody_writes(snapshot.state) or snapshot.unwritten_s is None else snapshot.unwritten_s


def _left_s(snapshot: Snapshot) -> float:
    return max(LEFT_S, LEFT_GAPS * (snapshot.log.pace.p95_s or 0.0))


def _anew_s(snapshot: Snapshot) -> float:
    p95_s = snapshot.log.pace.p95_s
    return ANEW_MOST_S if p95_s is None else max(ANEW_S, GAPS * p95_s)


def unheard(snapshot: Snapshot) -> bool:
    """Nobody is seen, here or elsewhere, it is silent for longer than anything explains, and the last line is an exception. A
    panic may be that of a helper, and what is said behind a good end is the noise of leaving."""
    procs, silence_s = snapshot.state.procs, snapshot.silence_s
    seen = procs is not None and (procs.processes or procs.leads or any(writer.alive for writer in procs.writers))
    if seen or _done(snapshot) or silence_s is None or silence_s <= snapshot.limit.stalled_s:
        return False
    last = next(_last(snapshot), None)
    if last is None or _RAISED.search(last.text.strip()) is None:
        return False
    return not any(_handled(line.text) for line in snapshot.state.tail[-TRACEBACK_LINES:])


def died_saying(snapshot: Snapshot) -> LogLine | None:
    """The first of the last lines, after the last step or stage, that tells of a death; none where all steps were counted out and
    the run told of a good end after it."""
    if said_zero(snapshot) or _ended_before_logged(snapshot) is not None:
        return None
    done, told = _done(snapshot), None
    last = (ended_saying(snapshot) if _counted_out(snapshot) else None) or reported(snapshot)
    for line in _last(snapshot):
        text = line.text.strip()
        if line is last and told is None:
            return None
        if _handled(text):
            continue
        if _DIED.search(text) or (_LEAKED.search(text) and not done):
            told = line
    return told


def outlived(snapshot: Snapshot, finding: Finding) -> bool:
    """Whether nobody is left and a line behind this message tells of a good end: a shell, or the program that caught it, went on
    to its end. All steps were counted out, the last line tells of code 0, or it is a report."""
    if _alone_s(snapshot) < 0.0:
        return False
    logged = _ended_before_logged(snapshot)
    if logged is not None and logged.file == finding.file and finding.offset >= logged.offset:
        return True
    counted = _counted_out(snapshot) or said_zero(snapshot)
    line = (ended_saying(snapshot) if counted else None) or reported(snapshot)
    return line is not None and line.file == finding.file and line.offset > finding.last_offset


def steps_last(snapshot: Snapshot) -> bool:
    """Whether the last line of all is that of a step: known for one, or in the words of lines before it, with the number of the
    step at which the run is."""
    last = next(_last(snapshot, steps=True), None)
    return last is not None and (last.kind == "progress" or _counts_steps(snapshot, last))


def _counts_steps(snapshot: Snapshot, last: LogLine) -> bool:
    from hangtop.logs.extract.line_values import said_in  # as in `_handled`

    said, step = said_in(last.text), snapshot.log.progress.step
    if step is None or f"{step}" not in said.values:
        return False
    alike = (
        line for line in snapshot.state.tail[-TRACEBACK_LINES:] if line is not last and said_in(line.text).words == said.words
    )
    return sum(1 for _ in alike) >= ALIKE


def said_zero(snapshot: Snapshot) -> bool:
    """Whether the last line of all tells that what was started ended with code 0, and no known total was left to reach."""
    last = next(_last(snapshot, steps=True), None)
    return last is not None and not _falls_short(snapshot) and _CODES.search(last.text) is not None


def _falls_short(snapshot: Snapshot) -> bool:
    progress = snapshot.log.progress
    return progress.step is not None and progress.total is not None and progress.step < progress.total - 1


def _counted_out(snapshot: Snapshot) -> bool:
    progress = snapshot.log.progress
    reached = progress.step is not None and progress.total is not None and progress.step >= progress.total
    return reached and not progress.partial


def _done(snapshot: Snapshot) -> bool:
    progress = snapshot.log.progress
    at_end = progress.step is not None and progress.total is not None and progress.step >= progress.total
    return at_end or (snapshot.stage is not None and snapshot.stage.id == FINISH)


def ended_saying(snapshot: Snapshot) -> LogLine | None:
    """The last line that tells of a good end: an early stop, or any end where no known total is left to reach."""
    short = _falls_short(snapshot)
    went_on = False
    for place, line in enumerate(_last(snapshot, steps=True)):
        if place == 0 and not short and _CODES.search(line.text):
            return line
        went_on = went_on or line.kind == "stage"
        told = _RUN_DONE.search(line.text) or (not went_on and _PART_DONE.search(line.text))
        went_on = went_on or _BEGINS.search(line.text) is not None
        if _EARLY.search(line.text) or (not short and told):
            return line
    return None


def reported(snapshot: Snapshot) -> LogLine | None:
    """The last line of all, where the program caught the error above it; or where it tells what the run leaves, and all steps
    were counted out or the program had gone on after errors before. What a death leaves behind the traceback is the noise of
    others."""
    line = next(_last(snapshot, steps=True), None)
    if (logged := _ended_before_logged(snapshot)) is not None:
        return logged
    if line is None or _falls_short(snapshot):
        return None
    if _OF_A_DEATH.search(line.text) is None and caught_last(snapshot.state.tail):
        return line
    if not _leaves(line.text):
        return None
    return line if _counted_out(snapshot) or caught(snapshot.state.tail) >= OFTEN else None


@memoized
def _ended_before_logged(snapshot: Snapshot) -> LogLine | None:
    """The first line of the errors that a logger wrote at the very end, where the line before tells of an end, or of what the run
    leaves: it had done its work, and caught what came then. Where not all steps were counted out, such a line may be of a part:
    then it tells of an end only if it is the first of its form, and says so of the run itself."""
    if _falls_short(snapshot) or (found := before_logged(snapshot.state.tail[-TRACEBACK_LINES:])) is None:
        return None
    before, first = found
    counted_out = _counted_out(snapshot)
    if before.kind in ("progress", "stage") or not (counted_out or is_new(snapshot.state.tail, before)):
        return None
    words = (_RUN_DONE, _EARLY, *((_PART_DONE,) if counted_out else ()))
    return first if _leaves(before.text) or any(pattern.search(before.text) for pattern in words) else None


def said_over(snapshot: Snapshot) -> bool:
    """Whether the run itself, not a part of it, said last that it is over, and no known total was left to reach."""
    return not _falls_short(snapshot) and any(_RUN_DONE.search(line.text) for line in _last(snapshot))


def begun_last(snapshot: Snapshot) -> bool:
    """Whether the last line of all tells of something that begins: a program that opens its log anew for each line may be at
    it."""
    last = next(_last(snapshot, steps=True), None)
    return last is not None and (last.kind == "stage" or _BEGINS.search(last.text) is not None)


def complaint(snapshot: Snapshot) -> LogLine | None:
    """The first of the last lines that complains, by its words or by the level that its logger gave it, and behind which the run
    does not say that it is over, or what it leaves: it went on to its end."""
    told: list[LogLine] = []
    for line in _last(snapshot):
        if line.kind == "error" or _COMPLAINS.search(line.text):
            told.append(line)
        elif _RUN_DONE.search(line.text) or _leaves(line.text):
            break
    return next((line for line in reversed(told) if not _handled(line.text.strip())), None)


def _leaves(text: str) -> bool:
    """Whether it reports what a good end leaves."""
    return _LEAVES.search(text) is not None and _OF_A_DEATH.search(text) is None


def complained_last(snapshot: Snapshot) -> LogLine | None:
    """The last line of all, if it tells of an error by the level that its logger gave it, or that something was given up."""
    last = next(_last(snapshot, steps=True), None)
    complains = last is not None and (last.kind == "error" or _GAVE_UP.search(last.text) is not None)
    return last if complains and last is not None and not _handled(last.text.strip()) else None


def new_last(snapshot: Snapshot) -> bool:
    """Whether the last line of all is the first of its form, behind some steps: what a run says in its course, at each step or
    beside it, it had said before."""
    tail = snapshot.state.tail
    last = next(_last(snapshot, steps=True), None)
    return last is not None and is_new(tail, last) and sum(line.kind == "progress" for line in tail) > ALIKE


def any_end_said(snapshot: Snapshot) -> bool:
    """Whether any of the last lines may tell of an end, whatever its steps say, or of what is done after the last step."""
    words = (_RUN_DONE, _PART_DONE, _EARLY, _KEPT)
    return any(pattern.search(line.text) for line in _last(snapshot, steps=True) for pattern in words)


def _last(snapshot: Snapshot, *, steps: bool = False) -> Iterator[LogLine]:
    """The last lines that say anything, newest first; up to the last step or stage, unless `steps` count too."""
    seen = 0
    for line in reversed(without_ignored(snapshot.state.tail[-TRACEBACK_LINES:])):
        if seen >= LAST_LINES or (not steps and line.kind in ("progress", "stage")):
            return
        if line.text.strip():
            seen += 1
            yield line


def _handled(text: str) -> bool:
    from hangtop.logs.extract.quoted_text import is_handled  # only now: the log's grammar would be a tenth of the screen's start

    return is_handled(text)
