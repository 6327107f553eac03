// textlint: markers of a merge conflict that was committed by mistake. A parser of Markdown accepts them as text.

const MARKER = /^(?:<{7}|>{7}|\|{7}) .*$/gm

/** @type {import('@textlint/types').TextlintRuleModule} */
const rule = ({ Syntax, RuleError, getSource, locator, report }) => ({
  [Syntax.Document](node) {
    for (const { 0: marker, index } of getSource(node).matchAll(MARKER)) {
      const padding = locator.range([index, index + marker.length])
      report(node, new RuleError('resolve the merge conflict', { padding }))
    }
  },
})

export default rule
