import { useEffect } from 'preact/hooks'
import { place } from '../../browser.js'
import { confirm } from '../../components/confirm-dialog.js'
import { guardNavigation, navigate, route } from '../../route.js'

/** The query parameters that identify a form. Others, such as the time range, leave the form on the page. */
const FORM_PARAMS = ['id', 'fresh', 'source']

/** Whether a URL shows the form of the current page. */
function isSameForm(to: string): boolean {
  const target = new URL(to, place.origin)
  const { path, query } = route.peek()
  return (
    target.pathname === path &&
    FORM_PARAMS.every((name) => target.searchParams.get(name) === (query[name] ?? null))
  )
}

/** Warns before the user leaves the page with unsaved changes, by a link, the Back button or closing the tab. */
export function useUnsavedWarning(hasChanges: boolean, name: string): void {
  useEffect(() => {
    if (!hasChanges) return undefined
    const release = guardNavigation((to) => {
      if (isSameForm(to)) return true
      confirm({
        title: 'Discard changes?',
        text: `The changes of ${name} are not saved. This cannot be undone.`,
        action: 'Discard changes',
        isDangerous: true,
        needsReason: false,
        isLocal: true,
        async run() {
          release()
          navigate(to)
        },
      })
      return false
    })
    const onUnload = (unload: BeforeUnloadEvent): void => unload.preventDefault()
    globalThis.addEventListener('beforeunload', onUnload)
    return () => {
      release()
      globalThis.removeEventListener('beforeunload', onUnload)
    }
  }, [hasChanges, name])
}
