/* The library that gives random bytes on Windows. Wine 8 lacks it, and every Rust program since 1.78
 * imports its one function. */
#include <windows.h>

#define MOST_IN_ONE_CALL 0x1000000u

/* The name under which advapi32 exports RtlGenRandom. */
BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG count);

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *bytes, SIZE_T count)
{
    SIZE_T done = 0;
    while (done < count) {
        SIZE_T left = count - done;
        ULONG now = left < MOST_IN_ONE_CALL ? (ULONG)left : MOST_IN_ONE_CALL;
        if (!SystemFunction036(bytes + done, now)) {
            return FALSE;
        }
        done += now;
    }
    return TRUE;
}
