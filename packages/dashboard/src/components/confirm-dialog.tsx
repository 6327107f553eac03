import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { isOffline } from '../api/connection.js'
import { ReasonField } from './reason-field.js'

/** An action that requires a confirmation. */
export interface ConfirmRequest {
  title: string
  text: ComponentChildren
  /** The text of the confirm button. */
  action: string
  isDangerous?: boolean
  /** Whether the dialog has a field for the reason in the audit trail. @defaultValue true */
  needsReason?: boolean
  /** Whether the action is possible while the server cannot be reached. @defaultValue false */
  isLocal?: boolean
  /** A text that the user must type before the action can be confirmed, for actions on many items. */
  typedText?: string | undefined
  run(reason: string): Promise<unknown>
}

/** The current request and its number. The number prevents that closing one request closes the next. */
const currentRequest = signal<{ request: ConfirmRequest; number: number } | undefined>(undefined)
let requestCount = 0

/** Opens the dialog for a request. */
export const confirm = (request: ConfirmRequest): void => {
  currentRequest.value = { request, number: ++requestCount }
}

/** The dialog of the current request. */
export function ConfirmDialog() {
  const current = currentRequest.value
  return current === undefined ? null : (
    <ConfirmForm key={current.number} request={current.request} number={current.number} />
  )
}

function ConfirmForm({ request, number }: { request: ConfirmRequest; number: number }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const reason = useSignal('')
  const errorText = useSignal('')
  const isBusy = useSignal(false)
  const isBlocked = request.isLocal !== true && isOffline.value
  const typed = useSignal('')
  const isTyped = request.typedText === undefined || typed.value.trim() === request.typedText

  useEffect(() => {
    const before = globalThis.document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])

  const close = (): void => {
    if (currentRequest.peek()?.number === number) currentRequest.value = undefined
  }
  const confirm = async (submit: Event): Promise<void> => {
    submit.preventDefault()
    isBusy.value = true
    errorText.value = ''
    try {
      await request.run(reason.value.trim())
      close()
    } catch (error) {
      errorText.value = (error as Error).message
      isBusy.value = false
    }
  }

  return (
    <dialog ref={dialog} aria-labelledby="ask-title" onClose={close}>
      <article>
        <h2 id="ask-title">{request.title}</h2>
        <form onSubmit={(submit) => void confirm(submit)}>
          <div class="ask-text">{request.text}</div>
          {request.needsReason !== false && <ReasonField reason={reason} />}
          {request.typedText !== undefined && (
            <label>
              Type {request.typedText} to confirm
              <input
                type="text"
                autocomplete="off"
                value={typed.value}
                onInput={(input) => {
                  typed.value = input.currentTarget.value
                }}
              />
            </label>
          )}
          {errorText.value !== '' && (
            <p class="problem" role="alert">
              {errorText.value}
            </p>
          )}
          {isBlocked && <p class="hint">The server cannot be reached. Nothing is sent until it is.</p>}
          <footer class="actions">
            <button type="button" class="secondary" onClick={close}>
              Cancel
            </button>
            <button
              type="submit"
              class={request.isDangerous === true ? 'danger' : ''}
              aria-busy={isBusy.value}
              disabled={isBusy.value || isBlocked || !isTyped}
            >
              {request.action}
            </button>
          </footer>
        </form>
      </article>
    </dialog>
  )
}
