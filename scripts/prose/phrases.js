// textlint: rejected phrases in the text of a document. Code and links are not text.
import { findPhrases } from '../lint/phrases.mjs'

/** @type {import('@textlint/types').TextlintRuleModule} */
const rule = ({ Syntax, RuleError, getSource, locator, report }) => ({
  [Syntax.Str](node) {
    for (const { phrase, better, index } of findPhrases(getSource(node))) {
      const padding = locator.range([index, index + phrase.length])
      report(node, new RuleError(`write "${better}" instead of "${phrase}"`, { padding }))
    }
  },
})

export default rule
