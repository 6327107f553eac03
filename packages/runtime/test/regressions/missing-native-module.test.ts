import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { compile } from '../dead-letters/compile.js'
import { folder } from '../holdfast/setup.js'

const run = promisify(execFile)

/** Makes SQLite unresolvable, in threads too: both libsql and the module of Node.js. */
const NO_SQLITE = `
import { register, syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    super(file, { ...options, execArgv: ['--import', import.meta.url] })
  }
}
syncBuiltinESMExports()
process.getBuiltinModule = () => undefined
register('data:text/javascript,' + encodeURIComponent(\`
export async function resolve(name, context, next) {
  if (/^(@libsql\\\\/|libsql$|node:sqlite$)/.test(name))
    throw Object.assign(new Error("Cannot find package '" + name + "'"), { code: 'ERR_MODULE_NOT_FOUND' })
  return next(name, context)
}\`))
`

/** Opens a runtime without SQLite, makes a failing call, and returns the output. */
async function openWithout(open: object): Promise<string> {
  const dir = await folder({ 'no-sqlite.mjs': NO_SQLITE })
  const program = await compile('packages/runtime/test/regressions/open-child.ts', 'open-child')
  const hook = pathToFileURL(join(dir, 'no-sqlite.mjs')).href
  const { stdout } = await run(process.execPath, ['--import', hook, program, JSON.stringify(open)], {
    cwd: dir,
  })
  return stdout.trim()
}

describe('without a native module', () => {
  it('a files store stores records', async () => {
    const dir = await folder()
    expect(await openWithout({ config: {}, store: `files:${dir}` })).toBe('1 session')
  })

  it('a SQLite store reports the package to install', async () => {
    const dir = await folder()
    const said = await openWithout({ config: {}, store: `sqlite:${dir}/hf.db` })
    expect(said).toContain('STORE_UNAVAILABLE')
    expect(said).toContain("Cannot find package 'libsql'")
    expect(said).toContain('npm install libsql')
    expect(said).toContain('files:DIR')
    expect(said.split('\n')).toHaveLength(1)
  })
})
