// Comments and messages are read by people who look for the cause of a failure. They use the standard terms of the field.

import { findPhrases } from './phrases.mjs'

/** @type {Parameters<import('oxlint/plugins-dev').RuleTester['run']>[1]} */
export const wording = {
  create(context) {
    /** @param {string} text @param {any} where */
    const check = (text, where) => {
      for (const { phrase, better } of findPhrases(text))
        context.report({ ...where, message: `plain English: write "${better}" instead of "${phrase}"` })
    }
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) check(comment.value, { loc: comment.loc })
      },
      Literal(node) {
        if (typeof node.value === 'string') check(node.value, { node })
      },
      JSXText(node) {
        check(node.value, { node })
      },
      TemplateElement(node) {
        check(node.value.raw, { node })
      },
    }
  },
}
