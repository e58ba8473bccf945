//! Limits on a build's disk use.

use milepost_model::spec::Runtime as Kind;
use milepost_runtime::DiskLimit;

use crate::ground::{Ground, order};

#[tokio::test]
async fn stops_a_build_that_writes_too_much_and_names_the_limit() {
    let ground = Ground::new().await;
    let command = "for n in 1 2 3 4 5; do head -c 20000000 /dev/zero > $n; done; sleep 60";
    for (of_plan, advice) in [(false, "`--build-disk`"), (true, "a larger plan")] {
        let mut order = order(Kind::Binary, command);
        order.disk = DiskLimit { bytes: 32 << 20, of_plan };
        let reason = ground.build_order(&[], order).await.reason();
        assert!(reason.starts_with("the build was stopped because it wrote more than 32 MiB; "), "{reason}");
        assert!(reason.ends_with(advice), "{reason}");
    }
}

#[tokio::test]
async fn refuses_to_allocate_disk_space_without_writing() {
    let ground = Ground::new().await;
    let command = "python3 -c \"import ctypes, errno, fcntl, os, struct, termios
libc = ctypes.CDLL(None, use_errno=True)
file = os.open('big', os.O_CREAT | os.O_RDWR)
print(libc.fallocate(file, 0, ctypes.c_long(0), ctypes.c_long(12 << 30)), ctypes.get_errno() == errno.EOPNOTSUPP)
os.posix_fallocate(file, 0, 4096); print(os.stat('big').st_size)
space = ctypes.create_string_buffer(struct.pack('hhqqiI16x', 0, 0, 0, 12 << 30, 0, 0))
for request in (0x4030580a, 0x40305824, 0x40305828, 0x4030582a, 0x40305839, 0x401c5820):
    print(libc.ioctl(file, ctypes.c_ulong(request), space), ctypes.get_errno() == errno.EOPNOTSUPP)
# file_setattr, with flags that the kernel would call invalid
print(libc.syscall(469, -100, b'big', space, 24, 0xffff), ctypes.get_errno() == errno.EOPNOTSUPP)
print(len(fcntl.ioctl(file, termios.FIONREAD, bytes(4))))
print(os.stat('big').st_blocks * 512 < 1 << 20)\" && touch $DEPLOY_PKG";
    let built = ground.build_order(&[], order(Kind::Python, command)).await;
    let refused = ["-1 True"; 7];
    assert_eq!(built.lines(), [&["-1 True", "4096"], &refused[..], &["4", "True"]].concat());
}
