import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Something that is done only when it is confirmed. */
export interface ConfirmRequest {
  title: string
  text: ComponentChildren
  /** What the button that does it says. */
  action: string
  isDangerous?: boolean
  /** Whether a reason is asked for, which goes into the audit trail. @defaultValue true */
  needsReason?: boolean
  run(reason: string): Promise<unknown>
}

/** What is asked now, and the how manieth question it is: the end of one must not end the next. */
const currentRequest = signal<{ asked: ConfirmRequest; turn: number } | undefined>(undefined)
let requestCount = 0

/** Asks before something is done. */
export const confirm = (asked: ConfirmRequest): void => {
  currentRequest.value = { asked, turn: ++requestCount }
}

/** The one dialog that questions are asked in. */
export function ConfirmDialog() {
  const now = currentRequest.value
  return now === undefined ? null : <ConfirmForm key={now.turn} asked={now.asked} turn={now.turn} />
}

function ConfirmForm({ asked, turn }: { asked: ConfirmRequest; turn: number }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const reason = useSignal('')
  const failed = useSignal('')
  const busy = useSignal(false)

  useEffect(() => {
    const before = globalThis.document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])

  const leave = (): void => {
    if (currentRequest.peek()?.turn === turn) currentRequest.value = undefined
  }
  const confirm = async (submit: Event): Promise<void> => {
    submit.preventDefault()
    busy.value = true
    failed.value = ''
    try {
      await asked.run(reason.value.trim())
      leave()
    } catch (error) {
      failed.value = (error as Error).message
      busy.value = false
    }
  }

  return (
    <dialog ref={dialog} aria-labelledby="ask-title" onClose={leave}>
      <article>
        <h2 id="ask-title">{asked.title}</h2>
        <form onSubmit={(submit) => void confirm(submit)}>
          <div class="ask-text">{asked.text}</div>
          {asked.needsReason !== false && (
            <label>
              Reason, for the audit trail
              <input
                type="text"
                maxLength={1000}
                autocomplete="off"
                placeholder="optional"
                value={reason.value}
                onInput={(input) => {
                  reason.value = input.currentTarget.value
                }}
              />
            </label>
          )}
          {failed.value !== '' && (
            <p class="problem" role="alert">
              {failed.value}
            </p>
          )}
          <footer class="actions">
            <button type="button" class="secondary" onClick={leave}>
              Cancel
            </button>
            <button
              type="submit"
              class={asked.isDangerous === true ? 'danger' : ''}
              aria-busy={busy.value}
              disabled={busy.value}
            >
              {asked.action}
            </button>
          </footer>
        </form>
      </article>
    </dialog>
  )
}
