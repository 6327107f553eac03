// A rule may be switched off for a line, with a reason a reader can weigh.

/** @type {Parameters<import('oxlint/plugins-dev').RuleTester['run']>[1]} */
export const reason = {
  create(context) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const text = comment.value.trim()
          if (/^(oxlint|eslint)-disable/.test(text) && !/\s--\s+\S/.test(text)) {
            context.report({
              loc: comment.loc,
              message: 'say why: `oxlint-disable-next-line rule -- reason`',
            })
          }
        }
      },
    }
  },
}
