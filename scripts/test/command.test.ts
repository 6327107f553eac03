// The command `holdfast`, as npm installs it with each of the two packages that have it. Needs `npm run build`.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packages, root } from '../packages.mjs'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-command-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { version } = JSON.parse(readFileSync(join(root, 'packages/server/package.json'), 'utf8'))

/** What a command prints, and its exit code. */
async function outcome(file: string, cwd = folder) {
  const { stdout, stderr, code } = await run(file, ['--version'], { cwd }).then(
    (printed) => ({ ...printed, code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  )
  return { stdout, stderr, code }
}

it.each(packages().filter(({ name }) => ['holdfast', '@holdfast/server'].includes(name)))(
  'runs in the repository by the file of $name',
  async ({ dir }) => {
    expect(await outcome(join(dir, 'bin/holdfast.js'), root)).toEqual({
      stdout: `${version}\n`,
      stderr: '',
      code: 0,
    })
  },
)

it('says what to do where it is not built', async () => {
  cpSync(join(root, 'packages/server/bin'), join(folder, 'unbuilt/bin'), { recursive: true })
  writeFileSync(join(folder, 'unbuilt/package.json'), '{ "type": "module" }')
  expect(await outcome(join(folder, 'unbuilt/bin/holdfast.js'))).toEqual({
    stdout: '',
    stderr: 'holdfast: the command is not built yet: run npm run build first\n',
    code: 2,
  })
})

describe('of the packed core package', () => {
  const project = join(folder, 'project')
  const installed = join(project, 'node_modules/.bin/holdfast')

  beforeAll(async () => {
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), '{ "private": true }')
    const npm = (cwd: string, ...args: string[]) => run('npm', args, { cwd })
    const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
    const [{ filename }] = JSON.parse((await npm(join(root, 'packages/core'), ...pack)).stdout)
    await npm(project, 'install', '--offline', '--no-audit', '--no-fund', join(folder, filename))
  })

  it('says what to install where the server is not installed', async () => {
    expect(await outcome(installed, project)).toEqual({
      stdout: '',
      stderr:
        'holdfast: the command is part of the package @holdfast/server, which is not installed here.\n' +
        'Install it with: npm install @holdfast/server\n',
      code: 2,
    })
  })

  it('runs the command of the server where that is installed', async () => {
    mkdirSync(join(project, 'node_modules/@holdfast'))
    symlinkSync(join(root, 'packages/server'), join(project, 'node_modules/@holdfast/server'))
    expect(await outcome(installed, project)).toEqual({ stdout: `${version}\n`, stderr: '', code: 0 })
  })
})
