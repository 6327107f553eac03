// Comments and messages are read by people who look for the cause of a failure. They use the standard terms of the field.

/**
 * Words and phrases that are rejected in comments, strings and templates, each with what to write instead.
 *
 * @type {[RegExp, string][]}
 */
const PHRASES = [
  [
    /\b(?:nobody|no one|whoever|somebody|someone|anybody|everybody)\b/i,
    'name the caller, node, process or member',
  ],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\bhear(?:s|d)? (?:of|from)\b/i, 'is notified, receives'],
  [/\b(?:told|tells?|telling) (?:of|it|them|us)\b/i, 'report, notify, return'],
  [/\blet(?:s|ting)? go\b/i, 'release'],
  [/\bset(?:s|ting)? aside\b/i, 'eject, quarantine'],
  [/\bgo(?:es)? by\b/i, 'use'],
  [/\bgiv(?:e|es|en|ing) leave\b|\bleave for a (?:test|probe)\b/i, 'grant a permit'],
  [/\bnone of ours\b|\bof (?:our|its|their) own accord\b/i, 'not valid, automatically'],
  [/\bcomes? to nothing\b|\bfor ever\b/i, 'fails, forever'],
]

/** @param {string} text */
const findPhrase = (text) => PHRASES.find(([pattern]) => pattern.test(text))

/** @type {Parameters<import('oxlint/plugins-dev').RuleTester['run']>[1]} */
export const wording = {
  create(context) {
    /** @param {string} text @param {any} where */
    const check = (text, where) => {
      const [pattern, better] = findPhrase(text) ?? []
      if (pattern === undefined) return
      const [phrase] = pattern.exec(text) ?? []
      context.report({ ...where, message: `plain English: write "${better}" instead of "${phrase}"` })
    }
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) check(comment.value, { loc: comment.loc })
      },
      Literal(node) {
        if (typeof node.value === 'string') check(node.value, { node })
      },
      TemplateElement(node) {
        check(node.value.raw, { node })
      },
    }
  },
}
