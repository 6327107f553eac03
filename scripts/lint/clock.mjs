// Time and random numbers come from `Clock` and `Random`; only the file that implements them may read them from the machine.

const functions = new Set(['setTimeout', 'setInterval'])
const members = new Map([
  ['Date', new Set(['now'])],
  ['performance', new Set(['now', 'timeOrigin'])],
  ['Math', new Set(['random'])],
  ['AbortSignal', new Set(['timeout'])],
])
const globalObjects = new Set(['globalThis', 'window', 'self', 'global'])
const modules = /^(node:)?(timers|timers\/promises|perf_hooks)$/

/** @type {Parameters<import('oxlint/plugins-dev').RuleTester['run']>[1]} */
export const clock = {
  create(context) {
    /** @param {any} node @param {string} what */
    const report = (node, what) =>
      context.report({
        node,
        message: `${what} is banned: take it from the injected clock or random (only clock.ts reads the machine's)`,
      })

    /** @param {any} node @param {string | undefined} name a node, and the global that it refers to */
    const check = (node, name) => {
      if (name === undefined) return
      const { parent } = node
      if (functions.has(name) && parent.type !== 'TSTypeQuery') report(node, name)
      if (name === 'Date' && readsNow(node)) report(parent, 'The current Date')
      for (const [use, property] of propertiesOf(node)) {
        if (globalObjects.has(name)) check(use, property)
        else if (members.get(name)?.has(property)) report(use, `${name}.${property}`)
      }
    }

    return {
      Program(program) {
        const scope = context.sourceCode.getScope(program)
        const undeclared = scope.variables.filter((variable) => variable.defs.length === 0)
        const references = [...scope.through, ...undeclared.flatMap((variable) => variable.references)]
        for (const { identifier } of references) check(identifier, identifier.name)
      },
      ImportDeclaration(node) {
        if (modules.test(node.source.value)) report(node, node.source.value)
      },
    }
  },
}

/** @param {any} node `new Date()` and `Date()` */
function readsNow(node) {
  const { parent } = node
  if (parent.callee !== node) return false
  return (
    parent.type === 'CallExpression' || (parent.type === 'NewExpression' && parent.arguments.length === 0)
  )
}

/** @param {any} node @returns {[use: any, property: string][]} what is taken from it: `node.x`, `const { x } = node` */
function propertiesOf(node) {
  const { parent } = node
  if (parent.type === 'MemberExpression' && parent.object === node) {
    const name = parent.computed ? parent.property.value : parent.property.name
    return typeof name === 'string' ? [[parent, name]] : []
  }
  if (parent.type === 'VariableDeclarator' && parent.init === node && parent.id.type === 'ObjectPattern') {
    return parent.id.properties
      .filter((/** @type {any} */ property) => property.type === 'Property')
      .map((/** @type {any} */ property) => [property, property.key.name ?? property.key.value])
  }
  return []
}
