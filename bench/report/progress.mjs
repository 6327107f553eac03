/**
 * Tells on stderr what is being measured: in one line that changes, or a line per case where there is no terminal.
 *
 * @param {number} total how many processes there will be
 */
export function progress(total) {
  const { stderr } = process
  let done = 0
  let shown = ''
  return {
    /** @param {string} name @param {string} label @param {number} round @param {number} rounds */
    start(name, label, round, rounds) {
      const share = `${String(Math.floor((100 * done) / total)).padStart(3)} %`
      done++
      if (stderr.isTTY) stderr.write(`\r\u001B[K${share}  ${name}: ${label} (${round} of ${rounds})`)
      else if (name !== shown) stderr.write(`${share}  ${name}\n`)
      shown = name
    },
    clear() {
      if (stderr.isTTY) stderr.write('\r\u001B[K')
    },
  }
}
