// `npm run report:lines`: lines of code per package, without comments and blank lines. A line counts when a token stands on it.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { packages, root } from '../packages.mjs'

/** @param {string} file @returns {number} */
function codeLines(file) {
  const text = readFileSync(file, 'utf8')
  const source = ts.createSourceFile(
    file,
    text,
    ts.ScriptTarget.Latest,
    false,
    file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  )
  const lines = new Set()
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (node.kind === ts.SyntaxKind.EndOfFileToken) return
    if (node.getChildCount(source) === 0) {
      const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line
      const last = source.getLineAndCharacterOfPosition(node.getEnd()).line
      for (let line = first; line <= last; line++) lines.add(line)
    }
    for (const child of node.getChildren(source))
      if (child.kind < ts.SyntaxKind.FirstJSDocNode || child.kind > ts.SyntaxKind.LastJSDocNode) visit(child)
  }
  visit(source)
  return lines.size
}

let total = 0
for (const { name, dir } of packages()) {
  const files = readdirSync(join(dir, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(dir, 'src', file))
  const lines = files.reduce((sum, file) => sum + codeLines(file), 0)
  total += lines
  console.log(
    `${name.padEnd(24)}${String(files.length).padStart(5)} files${String(lines).padStart(8)} lines  ${relative(root, dir)}`,
  )
}
console.log(`${'total'.padEnd(24)}${String(total).padStart(19)} lines`)
