import { count } from '../format.js'

export interface Work {
  readonly title: string
  readonly done: number
  readonly failed: number
  readonly total: number | undefined
  readonly ended: boolean
  readonly note?: string | undefined
}

/** How far something is that takes a while. */
export function Progress({
  work,
  onStop,
  onClose,
}: {
  work: Work
  onStop?: () => void
  onClose: () => void
}) {
  const { title, done, failed, total, ended, note } = work
  return (
    <section class="panel work" aria-label={title}>
      <p role="status">
        <strong>{title}</strong>: {count(done)}
        {total !== undefined && ` of ${count(total)}`} done{failed > 0 && `, ${count(failed)} failed`}
        {ended && '. Finished.'}
        {note !== undefined && ` ${note}`}
      </p>
      <progress
        aria-label={title}
        max={total ?? 1}
        {...(total === undefined && !ended ? {} : { value: ended && total === undefined ? 1 : done })}
      />
      <div class="actions">
        {!ended && onStop !== undefined && (
          <button type="button" class="small secondary" onClick={onStop}>
            Stop
          </button>
        )}
        {ended && (
          <button type="button" class="small secondary" onClick={onClose}>
            Close
          </button>
        )}
      </div>
    </section>
  )
}
