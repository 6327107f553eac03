// Turns the comments of an example into assertions, without moving a line:
//   expression // => value                 the value it has, by deep equality
//   const x = expression // => value
//   console.log(expression) // => value
//   expression // throws CODE              the `code` or the `name` of what it throws
// A comment may also stand on the line below its statement.
import ts from 'typescript'

const marks = /\/\/ (?:=> *(?<value>.+?)|throws (?<code>[A-Z]\w*)) *$/gm

/**
 * @param {import('./extract.mjs').Example} example
 * @returns {string} code that calls `__equal(actual, expected, where)` and `__throws(fn, code, where)`
 */
export function withAssertions({ file, line, code }) {
  const statements = statementsOf(code)
  /** @type {[position: number, text: string][]} */
  const insertions = []

  for (const mark of code.matchAll(marks)) {
    const where = `${file}:${line + code.slice(0, mark.index).split('\n').length - 1}`
    const statement = statements.find(({ end }) => {
      return end <= mark.index && /^[ \t]*\n?[ \t]*$/.test(code.slice(end, mark.index))
    })
    const { value, code: errorCode } = /** @type {{ value?: string, code?: string }} */ (mark.groups)
    const at = `, ${JSON.stringify(where)})`

    if (statement === undefined) throw new Error(`${where}: \`${mark[0]}\` follows no statement`)
    if (value !== undefined && !isExpression(value))
      throw new Error(`${where}: \`${value}\` is no expression`)
    if (ts.isExpressionStatement(statement)) {
      const actual = (value !== undefined && printed(statement.expression)) || statement.expression
      const [before, after] =
        value === undefined
          ? ['await __throws(async () => (', `), '${errorCode}'${at}`]
          : ['__equal(', `, (${value})${at}`]
      insertions.push([actual.getStart(), before], [actual.end, after])
    } else {
      const [declared] = statement.declarationList.declarations
      if (value === undefined || declared === undefined || !ts.isIdentifier(declared.name)) {
        throw new Error(`${where}: \`${mark[0]}\` needs an expression, or a variable to look at`)
      }
      insertions.push([statement.end, `; __equal(${declared.name.text}, (${value})${at}`])
    }
  }

  return insertions
    .toSorted(([a], [b]) => b - a)
    .reduce((text, [position, inserted]) => text.slice(0, position) + inserted + text.slice(position), code)
}

/** @param {string} code */
function statementsOf(code) {
  /** @type {(ts.ExpressionStatement | ts.VariableStatement)[]} */
  const found = []
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isExpressionStatement(node) || ts.isVariableStatement(node)) found.push(node)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('example.ts', code, ts.ScriptTarget.Latest, true))
  return found
}

/** @param {ts.Expression} expression @returns {ts.Expression | undefined} what a console.log prints */
function printed(expression) {
  if (!ts.isCallExpression(expression) || expression.expression.getText() !== 'console.log') return undefined
  return expression.arguments.length === 1 ? expression.arguments[0] : undefined
}

/** @param {string} text */
function isExpression(text) {
  const { diagnostics } = ts.transpileModule(`(${text})`, { reportDiagnostics: true })
  return diagnostics?.length === 0
}
