import { formatCount } from '../format.js'

export interface WorkProgress {
  readonly title: string
  readonly done: number
  readonly failed: number
  readonly total: number | undefined
  readonly isEnded: boolean
  readonly note?: string | undefined
}

/** The progress of a long operation. */
export function ProgressPanel({
  work,
  onStop,
  onClose,
}: {
  work: WorkProgress
  onStop?: () => void
  onClose: () => void
}) {
  const { title, done, failed, total, isEnded, note } = work
  return (
    <section class="panel work" aria-label={title}>
      <p role="status">
        <strong>{title}</strong>: {formatCount(done)}
        {total !== undefined && ` of ${formatCount(total)}`} done
        {failed > 0 && `, ${formatCount(failed)} failed`}
        {isEnded && '. Finished.'}
        {note !== undefined && ` ${note}`}
      </p>
      <progress
        aria-label={title}
        max={total ?? 1}
        {...(total === undefined && !isEnded ? {} : { value: isEnded && total === undefined ? 1 : done })}
      />
      <div class="actions">
        {!isEnded && onStop !== undefined && (
          <button type="button" class="small secondary" onClick={onStop}>
            Stop
          </button>
        )}
        {isEnded && (
          <button type="button" class="small secondary" onClick={onClose}>
            Close
          </button>
        )}
      </div>
    </section>
  )
}
