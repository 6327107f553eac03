import { execFileSync, spawnSync } from 'node:child_process'
import { systemClock } from 'holdfast/internal'
import { afterEach, describe, expect, it } from 'vitest'
import { COMMAND } from './process.js'
import { CONFIG, World } from './world.js'

const tmux = spawnSync('tmux', ['-V']).status === 0
if (!tmux) console.warn('there is no tmux here: the command is not tested in a real terminal')

let count = 0
const open: string[] = []

afterEach(() => {
  for (const name of open.splice(0)) spawnSync('tmux', ['-L', name, 'kill-server'])
})

/** A terminal of a width, with a shell in it. */
class Terminal {
  private readonly name = `holdfast-${process.pid}-${++count}`

  /** What is typed before the shell reads is shown twice, or in the wrong place: it must be ready first. */
  static async open(world: World, columns: number): Promise<Terminal> {
    const terminal = new Terminal()
    open.push(terminal.name)
    const size = ['-x', String(columns), '-y', '40']
    terminal.tmux('-f', '/dev/null', 'new-session', '-d', ...size, '-c', world.dir, 'sh')
    terminal.type(`PS1='$ '; holdfast() { "${process.execPath}" "${COMMAND}" "$@"; }; clear; echo ready`)
    await terminal.showing(/^ready\n\$/m)
    return terminal
  }

  type(line: string): void {
    this.tmux('send-keys', '-l', line)
    this.tmux('send-keys', 'Enter')
  }

  key(name: string): void {
    this.tmux('send-keys', name)
  }

  screen(): string {
    return this.tmux('capture-pane', '-p')
  }

  /** What is on the screen once it shows this. */
  async showing(what: RegExp): Promise<string> {
    for (;;) {
      const screen = this.screen()
      if (what.test(screen)) return screen
      await new Promise<void>((resolve) => systemClock.setTimer(resolve, 50))
    }
  }

  private tmux(...argv: string[]): string {
    return execFileSync('tmux', ['-L', this.name, ...argv]).toString()
  }
}

describe.skipIf(!tmux)('the command in a terminal', () => {
  it.each([60, 120])('fits tables and charts into %i columns', async (columns) => {
    const terminal = await Terminal.open(new World({ 'holdfast.yaml': CONFIG }), columns)
    terminal.type('holdfast policies; echo "done: $?"')
    const screen = await terminal.showing(/^done: 0/m)
    const lines = screen.split('\n')
    const head = lines.findIndex((line) => line.startsWith('ID'))
    // A line that did not fit would have been broken into two.
    expect(lines.slice(head, head + 8).map((line) => line.split(/\s/)[0])).toEqual([
      'ID',
      'default',
      'default_exponential_backoff',
      'aggressive_retry',
      'conservative_retry',
      'linear_backoff',
      'rate_limited',
      'fetch',
    ])
    terminal.type('clear; holdfast explain fetch; echo "explained: $?"')
    expect(await terminal.showing(/^explained: 0/m)).toMatch(/attempt 2 +▒+ +0 s – 200 ms/)
  })

  it('stops a server at Ctrl-C and restores the terminal', async () => {
    const terminal = await Terminal.open(new World({ 'holdfast.yaml': CONFIG }), 100)
    terminal.type('holdfast serve --port 0; echo "done: $?"')
    await terminal.showing(/Press Ctrl-C to stop/)
    terminal.key('C-c')
    expect(await terminal.showing(/^done: \d/m)).toContain('done: 0')
  })

  it('asks questions and writes the answers', async () => {
    const world = new World()
    const terminal = await Terminal.open(world, 100)
    terminal.type('holdfast init; echo "done: $?"')
    await terminal.showing(/Where should records be stored/)
    terminal.key('Down')
    await terminal.showing(/[●>] *Files/)
    terminal.key('Enter')
    await terminal.showing(/Which port/)
    terminal.key('Enter')
    await terminal.showing(/Add a pool of proxies/)
    terminal.key('y')
    await terminal.showing(/^done: 0/m)
    terminal.type('clear; holdfast check && grep ^store holdfast.yaml')
    const screen = await terminal.showing(/^store:/m)
    expect(screen).toContain('1 pool')
    expect(screen).toContain('store: files:data')
  })

  it('writes nothing when the questions are cancelled', async () => {
    const terminal = await Terminal.open(new World(), 100)
    terminal.type('holdfast init; echo "done: $?"; ls')
    await terminal.showing(/Where should records be stored/)
    // That it moves shows that it reads keys by itself, Ctrl-C among them.
    terminal.key('Down')
    await terminal.showing(/[●>] *Files/)
    terminal.key('C-c')
    expect(await terminal.showing(/^done: \d+/m)).toContain('done: 130')
    expect(terminal.screen()).not.toContain('wrote holdfast.yaml')
  })
})
