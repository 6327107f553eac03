import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { Holdfast } from '../../src/index.js'
import { compile } from '../dead-letters/compile.js'
import { folder } from '../holdfast/setup.js'

const run = promisify(execFile)

/** Makes SQLite unresolvable: neither libsql nor what Node.js has built in. */
const NO_SQLITE = `
import { register } from 'node:module'
process.getBuiltinModule = () => undefined
register('data:text/javascript,' + encodeURIComponent(\`
export async function resolve(name, context, next) {
  if (/^(@libsql\\\\/|libsql$|node:sqlite$)/.test(name))
    throw Object.assign(new Error("Cannot find package '" + name + "'"), { code: 'ERR_MODULE_NOT_FOUND' })
  return next(name, context)
}\`))
`

/** Opens a runtime where there is no SQLite, makes a failing call, and says what became of it. */
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
  it('a store of files keeps records', async () => {
    const dir = await folder()
    expect(await openWithout({ config: {}, store: `files:${dir}` })).toBe('1 session')
  })

  it('a store in SQLite says what to install', async () => {
    const dir = await folder()
    const said = await openWithout({ config: {}, store: `sqlite:${dir}/hf.db` })
    expect(said).toContain('STORE_UNAVAILABLE')
    expect(said).toContain("Cannot find package 'libsql'")
    expect(said).toContain('npm install libsql')
    expect(said).toContain('files:DIR')
    expect(said.split('\n')).toHaveLength(1)
  })
})

it('a default store that cannot be opened is reported in one line that says how to choose another', async () => {
  const dir = await folder({ 'holdfast.yaml': 'version: "1.2.0"\n' })
  await writeFile(join(dir, 'data'), 'a file where a folder should be')
  const error = await Holdfast.open({ config: join(dir, 'holdfast.yaml'), env: {}, watch: false }).catch(
    (thrown: unknown) => thrown as Error,
  )
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const { message } = error as Error
  expect(message).toMatch(/^the default store sqlite:data\/holdfast\.db cannot be opened: /)
  expect(message).toContain('set store in the config')
  expect(message.split('\n')).toHaveLength(1)
})

it('a store that the config names is reported as it is', async () => {
  const dir = await folder({ 'holdfast.yaml': 'version: "1.2.0"\nstore: sqlite:data/hf.db\n' })
  await mkdir(join(dir, 'data'))
  await mkdir(join(dir, 'data', 'hf.db'))
  const opened = Holdfast.open({ config: join(dir, 'holdfast.yaml'), env: {}, watch: false })
  await expect(opened).rejects.toThrow(/^the SQLite store /)
})
