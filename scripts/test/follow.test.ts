import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { follow, missingLine, stepsOf } from '../install/follow.mjs'

const bash = (command: string, output?: string, info = 'bash') =>
  `\`\`\`${info}\n${command}\n\`\`\`\n${output === undefined ? '' : `\n\`\`\`text\n${output}\n\`\`\`\n`}`

describe('the steps of a page', () => {
  it('are files and commands with their expected output', () => {
    const text = `# A\n\n\`\`\`ts\n// a.mjs\nf()\n\`\`\`\n\n${bash('node a.mjs', 'hello')}${bash('true')}`
    expect(stepsOf('a.md', text)).toEqual([
      { file: 'a.mjs', text: '// a.mjs\nf()\n' },
      { command: 'node a.mjs', output: 'hello', isServer: false, line: 9 },
      { command: 'true', output: undefined, isServer: false, line: 16 },
    ])
  })

  it('reject a block without a file name, and output without a command', () => {
    expect(() => stepsOf('a.md', '```ts\nf()\n```')).toThrow('a.md:2: the first line must name a file')
    expect(() => stepsOf('a.md', '```text\nhello\n```')).toThrow('a.md:2: no command prints this output')
    expect(() => stepsOf('a.md', bash('node a.mjs', undefined, 'bash server'))).toThrow(
      'a.md:2: a server needs expected output',
    )
  })
})

describe('expected output', () => {
  it('matches lines in order, with other lines between them', () => {
    expect(missingLine('a\nc', 'a\nb\nc')).toBeUndefined()
    expect(missingLine('c\na', 'a\nb\nc')).toBe('a')
  })

  it('matches any characters with …, and everything else literally', () => {
    expect(missingLine('took … ms (1.5×)', 'took 12 ms (1.5×)')).toBeUndefined()
    expect(missingLine('took … ms (1.5×)', 'took 12 ms (1x5×)')).toBe('took … ms (1.5×)')
  })
})

describe('following a page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-follow-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const place = { folder, env: process.env }

  it('writes files, runs commands and compares their output', async () => {
    const text = `\`\`\`ts\n// lib/a.mjs\nconsole.log('hello', 7)\n\`\`\`\n\n${bash('node lib/a.mjs', 'hello …')}`
    await follow('a.md', text, place)
    expect(existsSync(join(folder, 'lib/a.mjs'))).toBe(true)
  })

  it('fails when a command fails or prints something else', async () => {
    await expect(follow('a.md', bash('echo no; exit 3'), place)).rejects.toThrow(
      'a.md:2: ended with exit code 3',
    )
    await expect(follow('a.md', bash('echo no', 'yes'), place)).rejects.toThrow(
      'a.md:2: the output has no line `yes`',
    )
    await expect(follow('a.md', bash('false; echo yes', 'yes'), place)).rejects.toThrow('exit code 1')
  })

  it('waits for the end of a command that has printed its output, and then checks its exit code', async () => {
    await expect(follow('a.md', bash('echo yes; sleep 1; exit 3', 'yes'), place)).rejects.toThrow(
      'a.md:2: ended with exit code 3',
    )
  })

  it('fails when a server has ended before the page', async () => {
    const server = bash('echo $$ > pid; echo listening; exit 3', 'listening', 'bash server')
    const waitForEnd = bash('while kill -0 $(cat pid) 2> /dev/null; do sleep 0.01; done')
    await expect(follow('a.md', server + waitForEnd, place)).rejects.toThrow(
      'a.md:2: the server ended with exit code 3',
    )
  })

  it('keeps a server running until the page ends, then stops it', async () => {
    const server = `
process.on('SIGTERM', () => {
  require('node:fs').writeFileSync('stopped', '')
  process.exit()
})
setInterval(() => {}, 1000)
console.log('listening')`
    writeFileSync(join(folder, 'server.cjs'), server)
    await follow(
      'a.md',
      `${bash('node server.cjs', 'listening', 'bash server')}${bash('test ! -e stopped')}`,
      place,
    )
    await expect.poll(() => existsSync(join(folder, 'stopped'))).toBe(true)
  })
})
