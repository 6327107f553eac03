import type { CommandIo } from '../context/io.js'

/** The progress of a job. */
export interface ProgressState {
  readonly done: number
  readonly failed: number
  readonly total: number | undefined
}

/** Formats a progress bar: `[#######-----]  58 %  29 of 50, 2 failed`. */
export function formatBar({ done, failed, total }: ProgressState, columns: number): string {
  const all = Math.max(total ?? 0, done)
  const fraction = all === 0 ? 0 : done / all
  const percent = all === 0 ? 0 : Math.floor((done * 100) / all)
  const label = `${String(percent).padStart(3)} %  ${done} of ${total ?? '?'}${failed > 0 ? `, ${failed} failed` : ''}`
  const width = Math.max(4, Math.min(40, columns - label.length - 6))
  const full = Math.round(fraction * width)
  return `[${'#'.repeat(full)}${'-'.repeat(width - full)}]  ${label}`.slice(0, Math.max(1, columns - 1))
}

/** Creates a progress bar that redraws itself. Without a terminal it draws nothing. */
export function createProgressBar(io: CommandIo): { show(progress: ProgressState): void; end(): void } {
  let isDrawn = false
  return {
    show(progress) {
      if (!io.canDrawProgress) return
      isDrawn = true
      io.err(`\r\u001b[2K${formatBar(progress, io.columns())}`)
    },
    end() {
      if (isDrawn) io.err('\n')
    },
  }
}
