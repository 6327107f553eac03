import type { CommandIo } from '../context/io.js'

/** How far something is. */
export interface ProgressState {
  readonly done: number
  readonly failed: number
  readonly total: number | undefined
}

/** A bar in one line: `[#######-----]  58 %  29 of 50, 2 failed`. */
export function formatBar({ done, failed, total }: ProgressState, columns: number): string {
  const all = Math.max(total ?? 0, done)
  const share = all === 0 ? 0 : done / all
  const percent = all === 0 ? 0 : Math.floor((done * 100) / all)
  const words = `${String(percent).padStart(3)} %  ${done} of ${total ?? '?'}${failed > 0 ? `, ${failed} failed` : ''}`
  const room = Math.max(4, Math.min(40, columns - words.length - 6))
  const full = Math.round(share * room)
  return `[${'#'.repeat(full)}${'-'.repeat(room - full)}]  ${words}`.slice(0, Math.max(1, columns - 1))
}

/** Draws a bar over the one before it. Where nobody watches, it draws nothing. */
export function createProgressBar(io: CommandIo): { show(progress: ProgressState): void; end(): void } {
  let drawn = false
  return {
    show(progress) {
      if (!io.canDrawProgress) return
      drawn = true
      io.err(`\r\u001b[2K${formatBar(progress, io.columns())}`)
    },
    end() {
      if (drawn) io.err('\n')
    },
  }
}
