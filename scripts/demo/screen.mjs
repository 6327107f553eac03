// Lines in a terminal, the last of which may be drawn over; plain lines anywhere else.
const { stdout, env } = process
const terminal = stdout.isTTY && env.TERM !== 'dumb'

/** Whether lines can be drawn over: one that is broken in two could not be found again. */
export const live = terminal && stdout.columns >= 80

/** @param {number} code @returns {(text: string) => string} */
const style = (code) => (text) => (terminal && !env.NO_COLOR ? `\x1b[${code}m${text}\x1b[0m` : text)
export const ink = {
  bold: style(1),
  dim: style(2),
  red: style(31),
  green: style(32),
  yellow: style(33),
  cyan: style(36),
}

let drawn = 0

/** Prints lines in the place of those that were only drawn. @param {string[]} lines */
export function print(...lines) {
  stdout.write((drawn > 0 ? `\x1b[${drawn}A\x1b[J` : '') + lines.map((line) => `${line}\n`).join(''))
  drawn = 0
}

/** Draws what `lines` says until `work` is done; it is printed then. @param {() => string[]} lines @param {Promise<unknown>} work */
export async function animate(lines, work) {
  const draw = () => {
    const now = lines()
    print(...now)
    drawn = now.length
  }
  const timer = live ? setInterval(draw, 40) : undefined
  await work
  clearInterval(timer)
  print(...lines())
}

if (live) stdout.write('\x1b[?25l') // no cursor
process.on('exit', () => stdout.write(live ? '\x1b[?25h' : ''))
process.on('SIGTERM', () => process.exit(143))
process.on('SIGINT', () => {
  print('', '  stopped')
  process.exit(130)
})
stdout.on('error', () => process.exit()) // the reader of a pipe went away
