"""Wordings of how somebody wants things done: always, never, from now on."""

from __future__ import annotations

from .phrases import HARD_END, LANGUAGE
from .wording import WHO, Wording, worded


def instruction_wordings() -> list[Wording]:
    """All of them."""
    manner = (
        r"(?:(?:more |very )?(?:brief|concise|honest|direct|polite|formal|informal|short|terse))"
    )
    # "For this recipe" is one task; what follows "but" is another thing.
    one_task = r"(?![^.!?\n]*\b(?:this|these)\b(?! (?:way|format|style|tone)\b))"
    rest = (
        rf"(?P<detail>{one_task}[a-z][^.!?\n]{{3,150}}?)"
        r"(?=[.!?\n]|$|,? (?i:(?:but|because|since|so) (?:i|i'm|we|my|it|that))\b)"
    )
    # Verbs that somebody asks an assistant for: "always" alone is said of everything.
    verb = (
        r"(?=(?i:answer|reply|respond|write|speak|talk|use|keep (?:your|it|the|my|answers)|give me"
        r"|show|send|call|email|mail|text"
        r"|ask|tell|remind|include|add|start|end|begin|format|explain|translate|summari[sz]e|cite"
        r"|quote|mention|suggest|recommend|assume|check|test|run|commit|push|deploy|delete|remove"
        r"|book|order|schedule|put|address|refer|share|store|save|print|offer|repeat|round|convert"
        r"|avoid|skip|apologi[sz]e|wake|interrupt|contact|sign|link|list|confirm|notify|switch"
        rf"|provide|return|output|be {manner})\b)"
    )
    # "I want you to write a letter" is a task.
    standing = (
        r"(?=(?:always|never|keep|answer|reply|respond|call me|address|use|speak|talk|remember"
        rf"|avoid|ask|remind|be {manner})\b)(?!\w+ (?:the following|this|these|that|my)\b)"
    )
    told = r"(?i:please )?(?i:always|make sure to always|make sure you always)"
    length = r"(?:short|brief|concise|simple|to the point|under [\w ]{3,20}|below [\w ]{3,20})"
    told += r"|(?i:(?:please )?remember to always|you should always)"
    never = r"(?i:please )?(?i:never|do not ever|don't ever|make sure you never|you should never)"
    language = rf"(?:in )(?P<value>{LANGUAGE})\b"
    answer = (
        r"(?i:(?:please |always |only |from now on,? (?:please )?|just )*"
        r"(?:answer|reply|respond|write|speak|talk)(?: to me| with me| back)?) "
    )
    return [
        worded("answer_language", answer, language, rf"(?:{HARD_END}|(?= from now on| please))"),
        worded("answer_language", rf"{WHO}(?:'d like| want| prefer)(?: your)? (?:answers|replies) ",
               language, HARD_END),
        worded("answer_language", r"(?i:(?:please |always |only )?speak) "
               rf"(?P<value>{LANGUAGE})(?: with| to) me\b", first=True),
        worded("instruction", rf"(?:{told})", " ", verb, rest, value="always", first=True),
        worded("instruction", never, " ", verb, rest, negated=True,
               first=True),
        worded("instruction", r"(?i:from now on|in (?:the )?future|going forward),? (?:please )?",
               rf"(?!i\b|we\b|don't|do not|never){verb}", rest, value="from now on"),
        worded("instruction", r"(?i:from now on|in (?:the )?future|going forward),? (?:please )?",
               rf"(?i:don't|do not|never) {verb}", rest, negated=True),
        # "Please do not include the US" is said of one task; these are said of all that follow.
        worded("instruction", r"(?i:please stop) (?=(?:us|call|text|email|mention|apologi[sz]"
               r"|suggest|recommend|ask|remind|tell|repeat|add|say|writ)\w*ing\b)", rest,
               value="stop"),
        worded("instruction", r"(?i:please (?:don't|do not)) (?=use \w+(?: \w+)?[.!]?$"
               r"|(?:call|text|e?mail|mention|bring up|apologi[sz]|address|suggest|recommend|ask"
               r"|remind|share|store|tell|speak|talk|interrupt|wake|contact|repeat)\w*\b)"
               r"(?!tell me\b)",
               rest, negated=True),
        # Of an answer's form these are said once and meant for all.
        worded("instruction", r"(?i:please |just )?(?P<detail>(?i:keep) (?i:your |the |all |my )?"
               rf"(?i:answers?|repl(?:y|ies)|responses?|it) {length})", HARD_END, first=True,
               value="please"),
        worded("instruction", rf"(?i:please |just )?(?P<detail>(?i:be) {manner})", HARD_END,
               first=True, value="please"),
        worded("instruction", r"(?i:please |no,? )?(?P<detail>(?i:use) (?![^.!?]*\bthis\b)"
               r"(?i:metric|imperial|british|american|celsius|fahrenheit|tabs|spaces"
               r"|the metric|the imperial|24-hour)"
               r"[\w -]{0,40}?)", HARD_END, first=True, value="please"),
        worded("instruction", r"(?i:please )?(?i:no|don't use|do not use) (?:more )?"
               r"(?P<detail>emojis?|bullet points|markdown|tables|small talk|jargon|swearing)\b"
               r"(?:,? please)?", HARD_END,
               first=True, negated=True),
        worded("instruction", r"(?i:please )?", verb, r"(?P<detail>[A-Za-z][^.!?\n,]{3,100}?)"
               r"(?i:,? from now on)", HARD_END, first=True, value="from now on"),
        worded("instruction", r"(?P<detail>(?i:when(?:ever)? you) [^.!?\n,]{4,60}, "
               r"(?:please |always )?",
               verb, r"[a-z][^.!?\n]{3,100})", first=True, value="please"),
        worded("instruction", r"(?i:please )?(?i:don't|do not) (?=(?i:call|text|email|mail|message"
               r"|contact|wake|interrupt|disturb) me\b)", rest, negated=True, first=True),
        worded("instruction", rf"{WHO}(?: want|'d like| would like| need) you to ", standing, rest,
               value="please"),
    ]  # fmt: skip
