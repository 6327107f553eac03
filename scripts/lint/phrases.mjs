// Words and phrases that are not plain technical English, each with what to write instead. One list for comments, strings and
// templates (oxlint rule `holdfast/wording`) and for Markdown (textlint rule in scripts/prose). docs/style.md has examples.

/** @typedef {readonly [pattern: RegExp, better: string]} Phrase */

/** @type {readonly Phrase[]} */
const PHRASES = [
  // People in place of the caller, node, process or member that acts.
  [
    /\b(?:nobody|no one|whoever|whomever|somebody|someone|anybody|everybody)\b/i,
    'name the caller, node, process or member',
  ],
  // Verbs with a meaning of their own in place of the standard term.
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\bhear(?:s|d)? (?:of|from)\b/i, 'is notified, receives'],
  [/\b(?:told|tells?|telling) (?:of|it|them|us)\b/i, 'report, notify, return'],
  [/\blet(?:s|ting)? go\b/i, 'release'],
  [/\bset(?:s|ting)? aside\b/i, 'eject, quarantine'],
  [/\bgo(?:es)? by\b/i, 'use'],
  [/\bgiv(?:e|es|en|ing) leave\b|\bleave for a (?:test|probe)\b/i, 'grant a permit'],
  [/\bcomes? to nothing\b|\bfor ever\b/i, 'fails, forever'],
  [/\bfail(?:s|ed)? of\b(?! \d)/i, 'failed with, the error'],
  [/\bgone back (?:in|to)\b/i, 'restored, rolled back'],
  [/\blea(?:ves?|ving|ft)\b[^.;:\n]{0,40}\balone\b/i, 'does not change, does not call'],
  [/\bclos(?:e|es|ed|ing) the door\b|\bclosed doors?\b/i, 'rejects'],
  // Metaphors.
  [/\b(?:most|more|less|least) hope(?:ful|less)\b|\bis hopeless\b/i, 'most likely to succeed, permanent'],
  [/\b(?:bits|means|matter) of chance\b|\btime and chance\b/i, 'random bits, random numbers'],
  [/\brules of the house\b/i, 'rules'],
  [/\bpublic face\b/i, 'public API'],
  [/\bwords of (?:the|a) command\b/i, 'arguments'],
  // Constructions that need two readings.
  [
    /(?<!\bthere )\b(?:is|are|was) no (?:key|string|text|mapping|url|token|policy|breaker|pool|record|integer|function|object|array)\b/i,
    'is not a',
  ],
  [/\b(?:one|two|three|both|all), each of (?:its|their) own\b/i, 'say what each one is'],
  [/\bof which the (?:most|least|best|worst)\b/i, 'a second sentence'],
  [/\bgot a text that is not shown\b|\ba text that is not shown\b/i, 'a value that is not shown'],
  [/\bnone of ours\b|\bof (?:our|its|their) own accord\b/i, 'not valid, automatically'],
  [/\b(?:it|that) says nothing (?:of|about) itself\b/i, 'has no value'],
  [/\bwhat (?:it|they) know(?:s)? of\b/i, 'the state of'],
  [/\bis owed\b|\bowes? (?:it|them)\b/i, 'name the obligation'],
  [/\bspeak(?:s|ing)? (?:of|for)\b/i, 'describes, decides'],
  [/\blies? behind\b/i, 'is the cause of'],
  [/\bstands? (?:in )?for\b/i, 'means, replaces'],
  [
    /\b(?:anew|whence|thence|wherein|whereof|thereof|therein|hitherto|thus far|lest|amiss|nought|naught)\b/i,
    'a modern word',
  ],
]

/**
 * Finds rejected phrases.
 *
 * @param {string} text
 * @returns {{ phrase: string, better: string, index: number }[]}
 */
export function findPhrases(text) {
  return PHRASES.flatMap(([pattern, better]) =>
    [...text.matchAll(new RegExp(pattern.source, `${pattern.flags}g`))].map(({ 0: phrase, index }) => ({
      phrase,
      better,
      index,
    })),
  )
}
