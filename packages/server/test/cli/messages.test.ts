import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { EXIT_CODES } from '../../src/cli/context/exit.js'
import { createProgram } from '../../src/cli/program.js'
import { World } from './world.js'

const COMMANDS = [
  'serve',
  'proxy',
  'request',
  'init',
  'check',
  'explain',
  'policies',
  'migrate',
  'types',
  'config',
  'breakers',
  'sessions',
  'errors',
  'tail',
  'nodes',
  'dead-letters',
  'token',
  'completion',
]

const silent = {
  out() {},
  err() {},
  terminal: false,
  talks: false,
  asks: false,
  colours: false,
  columns: () => 80,
} as never

const leaves = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves)

describe('the command line', () => {
  it('has every command', () => {
    const root = createProgram(silent, '1', async () => {})
    expect(root.commands.map((command) => command.name()).toSorted()).toEqual(COMMANDS.toSorted())
  })

  it('shows examples and the shared options in the help of every command', async () => {
    const world = new World()
    for (const name of COMMANDS) {
      const { code, out } = await world.run([name, '--help'])
      expect(code, name).toBe(EXIT_CODES.ok)
      expect(out, name).toContain('Examples')
      expect(out, name).toContain('--config <file>')
    }
  })

  it('describes every command that does something, with an example of it', async () => {
    for (const leaf of leaves(createProgram(silent, '1', async () => {}))) {
      expect(leaf.description(), leaf.name()).not.toBe('')
      const group = leaf.parent?.parent ? [leaf.parent.name()] : []
      const { out } = await new World().run([...group, leaf.name(), '--help'])
      expect(out, leaf.name()).toMatch(new RegExp(`\\n  \\$ .*\\b${leaf.name()}\\b`))
    }
  })

  it('says its version', async () => {
    const { code, out } = await new World().run(['--version'])
    expect([code, out]).toEqual([EXIT_CODES.ok, '0.0.0\n'])
  })

  it.each([
    ['nothing at all', []],
    ['an unknown command', ['chek']],
    ['an unknown option', ['check', '--loud']],
    ['a missing argument', ['explain']],
    ['a number that is none', ['sessions', '--limit', 'many']],
    ['a word that is not among those taken', ['breakers', '--state', 'ajar']],
    ['a port beyond all ports', ['serve', '--port', '70000']],
    ['an address that is none', ['breakers', '--url', 'here']],
    ['credentials in an address', ['breakers', '--url', 'http://ann:hunter2@127.0.0.1/']],
    [
      'a header without a colon',
      ['request', 'http://127.0.0.1/', '-H', 'accept', '--url', 'http://127.0.0.1:1'],
    ],
    ['a shell that is none', ['completion', 'csh']],
  ])('ends with 2 for %s', async (_, argv) => {
    const { code, err, out } = await new World().run(argv)
    expect(code).toBe(EXIT_CODES.usage)
    expect(err).not.toBe('')
    expect(err + out).not.toContain('hunter2')
    if (argv.length === 0) return
    const asked = await new World().run([...argv, '--json'])
    expect(asked.code).toBe(EXIT_CODES.usage)
    expect(JSON.parse(asked.err)).toMatchObject({ error: 'USAGE', message: expect.stringMatching(/./) })
  })

  it('names the command that was meant', async () => {
    const { err } = await new World().run(['chek'])
    expect(err).toContain('Did you mean check?')
  })

  it('takes the shared options before and after the command', async () => {
    const world = new World({ 'other.yaml': 'version: "1.1.0"\n' })
    expect((await world.run(['--config', 'other.yaml', '--json', 'check'])).json.valid).toBe(true)
    expect((await world.run(['check', '--json', '--config', 'other.yaml'])).json.valid).toBe(true)
  })

  it('says errors as JSON where JSON is asked for', async () => {
    const { code, err, out } = await new World().run(['policies', '--json'])
    expect(code).toBe(EXIT_CODES.config)
    expect(out).toBe('')
    expect(JSON.parse(err)).toMatchObject({ error: 'CONFIG_INVALID', hint: expect.stringContaining('init') })
  })
})
